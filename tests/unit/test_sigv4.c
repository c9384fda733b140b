/* SPDX-License-Identifier: Apache-2.0
 * Signatures of the examples that Amazon published verify, and what is signed anew is what the new
 * key would have signed. */
#include "base/mem.h"
#include "egress/sigv4.h"
#include "unit/main.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define IAM_KEY "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define S3_KEY "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define S3_SCOPE "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
#define SIGNED(scope, names, signature)                                                            \
    "Authorization: AWS4-HMAC-SHA256 Credential=" scope ", SignedHeaders=" names                   \
    ", Signature=" signature "\r\n"

static const struct example {
    const char *name, *key, *head, *body;
} examples[] = {
    { "iam, a list of users", IAM_KEY,
            "GET /?Action=ListUsers&Version=2010-05-08 HTTP/1.1\r\n"
            "Host: iam.amazonaws.com\r\n"
            "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n"
            "X-Amz-Date: 20150830T123600Z\r\n" SIGNED(
                    "AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request",
                    "content-type;host;x-amz-date",
                    "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7") "\r\n",
            "" },
    { "s3, a piece of an object", S3_KEY,
            "GET /test.txt HTTP/1.1\r\n"
            "Host: examplebucket.s3.amazonaws.com\r\n"
            "Range: bytes=0-9\r\n"
            "x-amz-content-sha256: " EMPTY "\r\n"
            "x-amz-date: 20130524T000000Z\r\n" SIGNED(S3_SCOPE,
                    "host;range;x-amz-content-sha256;x-amz-date",
                    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") "\r\n",
            "" },
    { "s3, an object is put", S3_KEY,
            "PUT /test%24file.text HTTP/1.1\r\n"
            "Host: examplebucket.s3.amazonaws.com\r\n"
            "Date: Fri, 24 May 2013 00:00:00 GMT\r\n"
            "x-amz-date: 20130524T000000Z\r\n"
            "x-amz-storage-class: REDUCED_REDUNDANCY\r\n"
            "x-amz-content-sha256: "
            "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\r\n" SIGNED(S3_SCOPE,
                    "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd") "\r\n",
            NULL },
    { "s3, a parameter without a value", S3_KEY,
            "GET /?lifecycle HTTP/1.1\r\n"
            "Host: examplebucket.s3.amazonaws.com\r\n"
            "x-amz-date: 20130524T000000Z\r\n"
            "x-amz-content-sha256: " EMPTY
            "\r\n" SIGNED(S3_SCOPE, "host;x-amz-content-sha256;x-amz-date",
                    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543") "\r\n",
            "" },
    { "s3, a list of objects", S3_KEY,
            "GET /?max-keys=2&prefix=J HTTP/1.1\r\n"
            "Host: examplebucket.s3.amazonaws.com\r\n"
            "x-amz-date: 20130524T000000Z\r\n"
            "x-amz-content-sha256: " EMPTY
            "\r\n" SIGNED(S3_SCOPE, "host;x-amz-content-sha256;x-amz-date",
                    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") "\r\n",
            "" },
    { "s3, a presigned URL", S3_KEY,
            "GET /test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE"
            "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires="
            "86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330"
            "da4c265957d157751f604d404 HTTP/1.1\r\n"
            "Host: examplebucket.s3.amazonaws.com\r\n\r\n",
            "" },
    { "s3, a body of signed chunks", S3_KEY,
            "PUT /examplebucket/chunkObject.txt HTTP/1.1\r\n"
            "Host: s3.amazonaws.com\r\n"
            "x-amz-date: 20130524T000000Z\r\n"
            "x-amz-storage-class: REDUCED_REDUNDANCY\r\n"
            "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\n"
            "Content-Encoding: aws-chunked\r\n"
            "x-amz-decoded-content-length: 66560\r\n"
            "Content-Length: 66824\r\n" SIGNED(S3_SCOPE,
                    "content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-"
                    "decoded-content-length;x-amz-storage-class",
                    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9") "\r\n",
            NULL },
    { "a suite, fields with spaces and of one name", IAM_KEY,
            "GET / HTTP/1.1\r\n"
            "Host:example.amazonaws.com\r\n"
            "My-Header1: value1\r\n"
            "My-Header2: \"a   b   c\"\r\n"
            "X-Amz-Date:20150830T123600Z\r\n" SIGNED(
                    "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request",
                    "host;my-header1;my-header2;x-amz-date",
                    "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736") "\r\n",
            "" },
    { "a suite, a form", IAM_KEY,
            "POST / HTTP/1.1\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            "Host: example.amazonaws.com\r\n"
            "X-Amz-Date: 20150830T123600Z\r\n" SIGNED(
                    "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request",
                    "content-type;host;x-amz-date",
                    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a") "\r\n",
            "Param1=value1" },
};

static struct sigv4_message
message_of(const char *head, const char *body)
{
    return (struct sigv4_message){ head, strlen(head), body, body == NULL ? 0 : strlen(body) };
}

static struct sigv4_key
key_of(const char *text)
{
    struct sigv4_key key;

    ck_assert(sigv4_key_parse(text, strlen(text), &key));
    return key;
}

START_TEST(a_published_signature_verifies)
{
    const struct example *c = &examples[_i];
    struct sigv4_message message = message_of(c->head, c->body);
    struct sigv4_key key = key_of(c->key);
    struct sigv4_scheme scheme;
    const char *why = NULL;

    ck_assert_msg(sigv4_check(&message, &key, &scheme, &why), "%s: %s", c->name, why);
}
END_TEST

/* Signed again with the same key it is the same, but for spelling. */
START_TEST(the_same_key_signs_the_same)
{
    const struct example *c = &examples[_i];
    struct sigv4_message message = message_of(c->head, c->body);
    struct sigv4_key key = key_of(c->key);
    struct sigv4_scheme scheme;
    AUTO(str_done) struct str out = { 0 };
    char before[65];
    const char *why;

    ck_assert(sigv4_check(&message, &key, &scheme, &why));
    strcpy(before, scheme.signature);
    ck_assert(sigv4_sign(&message, &key, &scheme, &out));
    ck_assert_str_eq(scheme.signature, before);
    ck_assert_ptr_nonnull(strstr(out.data, before));
}
END_TEST

static const char *const new_keys[] = {
    "AKIAREALREALREALREAL:anotherSecretOfTheSameLength0123456789++",
    "ASIAREALREALREALREAL:short/secret:a+session/token==",
};

START_TEST(what_another_key_signs_verifies_with_it_alone)
{
    const struct example *c = &examples[_i];

    for (size_t i = 0; i < N_ELEMENTS(new_keys); i++) {
        struct sigv4_message message = message_of(c->head, c->body);
        struct sigv4_key old = key_of(c->key), key = key_of(new_keys[i]);
        struct sigv4_scheme scheme, again;
        AUTO(str_done) struct str out = { 0 };
        const char *why = NULL;

        ck_assert(sigv4_check(&message, &old, &scheme, &why));
        ck_assert(sigv4_sign(&message, &key, &scheme, &out));
        message = message_of(out.data, c->body);
        ck_assert_msg(
                sigv4_check(&message, &key, &again, &why), "%s: %s\n%s", c->name, why, out.data);
        ck_assert_uint_eq(again.path_form, scheme.path_form);
        ck_assert(!sigv4_check(&message, &old, &again, &why));
        ck_assert_ptr_null(strstr(out.data, "EXAMPLE/"));
        ck_assert_ptr_null(strstr(out.data, key.secret));
        ck_assert((strstr(out.data, "ecurity-") != NULL || strstr(out.data, "ecurity-T") != NULL) ==
                  (key.token != NULL));
    }
}
END_TEST

static const struct forgery {
    const char *name, *from, *to; /* of the third example */
} forgeries[] = {
    { "another path", "/test%24file.text", "/test%24file.texu" },
    { "another method", "PUT ", "GET " },
    { "another host", "examplebucket.", "examplebuckeu." },
    { "another body", "44ce7dd6", "54ce7dd6" },
    { "another time", "x-amz-date: 20130524T000000Z", "x-amz-date: 20130524T000001Z" },
    { "another region", "us-east-1", "us-east-2" },
    { "another key", "AKIAIOSFODNN7EXAMPLE/", "AKIAIOSFODNN7EXAMPLF/" },
    { "another signature", "98ad7217", "a8ad7217" },
    { "a longer signature", "ece108bd", "ece108bd0" },
    { "no signature", ", Signature=98ad", ", Signatury=98ad" },
    { "no signed fields", "SignedHeaders=", "SignedHeadery=" },
    { "another algorithm", "AWS4-HMAC-SHA256 ", "AWS4-ECDSA-P256-SHA256 " },
    { "a field less", "x-amz-storage-class: R", "x-amz-storage-clasz: R" },
    { "a second signature", "ece108bd\r\n", "ece108bd\r\nAuthorization: another\r\n" },
    { "no scope", "/aws4_request", "/aws5_request" },
};

START_TEST(what_was_changed_after_signing_does_not_verify)
{
    const struct forgery *c = &forgeries[_i];
    const char *head = examples[2].head, *at = strstr(head, c->from);
    AUTO(str_done) struct str forged = { 0 };
    struct sigv4_message message;
    struct sigv4_key key = key_of(S3_KEY);
    struct sigv4_scheme scheme;
    const char *why = NULL;

    ck_assert_ptr_nonnull(at);
    str_add_bytes(&forged, head, (size_t)(at - head));
    str_add(&forged, c->to);
    str_add(&forged, at + strlen(c->from));
    message = message_of(forged.data, NULL);
    ck_assert_msg(!sigv4_check(&message, &key, &scheme, &why), "%s", c->name);
    ck_assert_ptr_nonnull(why);
}
END_TEST

START_TEST(a_body_that_is_not_there_cannot_be_signed_unless_its_digest_is)
{
    struct sigv4_message message = message_of(examples[8].head, NULL);
    struct sigv4_key key = key_of(IAM_KEY);
    struct sigv4_scheme scheme;
    const char *why = NULL;

    ck_assert(!sigv4_check(&message, &key, &scheme, &why));
    ck_assert_ptr_nonnull(strstr(why, "x-amz-content-sha256"));
}
END_TEST

static const struct key_case {
    const char *text;
    bool ok;
} key_cases[] = {
    { "12345678:12345678", true },
    { "12345678:12345678:12345678", true },
    { "12345678:12345678:1:345678", true },
    { "12345678:", false },
    { "12345678", false },
    { ":12345678", false },
    { "12345678::12345678", false },
    { "12345678:12345678:", false },
    { "1234567:12345678", false },
};

START_TEST(a_key_has_an_id_a_secret_and_maybe_a_token)
{
    struct sigv4_key key;

    ck_assert_msg(sigv4_key_parse(key_cases[_i].text, strlen(key_cases[_i].text), &key) ==
                          key_cases[_i].ok,
            "%s", key_cases[_i].text);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("sigv4");
    TCase *tcase = tcase_create("sigv4");

    tcase_add_loop_test(tcase, a_published_signature_verifies, 0, N_ELEMENTS(examples));
    tcase_add_loop_test(tcase, the_same_key_signs_the_same, 0, N_ELEMENTS(examples));
    tcase_add_loop_test(
            tcase, what_another_key_signs_verifies_with_it_alone, 0, N_ELEMENTS(examples));
    tcase_add_loop_test(
            tcase, what_was_changed_after_signing_does_not_verify, 0, N_ELEMENTS(forgeries));
    tcase_add_test(tcase, a_body_that_is_not_there_cannot_be_signed_unless_its_digest_is);
    tcase_add_loop_test(
            tcase, a_key_has_an_id_a_secret_and_maybe_a_token, 0, N_ELEMENTS(key_cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
