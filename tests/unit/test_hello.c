/* SPDX-License-Identifier: Apache-2.0
 * The first message of TLS clients: real ones, live and kept, and what no client sends. */
#include "base/mem.h"
#include "egress/hello.h"

#include "unit/main.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- what real clients sent --------------------------------------------------------------- */
static const struct kept_case {
    const char *file; /* in fuzz/corpora/hello */
    const char *name;
    bool has_ech, has_alpn, offers_http1, offers_http2;
} kept_cases[] = {
    { "openssl-sclient", "openssl.example", false, false, false, false },
    { "openssl-tls12-alpn", "openssl.example", false, true, true, true },
    { "openssl-noname", "", false, false, false, false },
    { "over-four-records", "openssl.example", false, false, false, false },
    { "curl", "curl.example", false, true, true, true },
    { "curl-http1", "curl.example", false, true, true, false },
    { "python", "python.example", false, false, false, false },
    { "node", "node.example", false, false, false, false },
    { "node-fetch", "node.example", false, true, true, false },
    { "go", "go.example", false, true, true, true },
    { "go-ech", "outer.example", true, true, true, true },
    { "java", "java.example", false, false, false, false },
};

static size_t
read_kept(const char *name, uint8_t *bytes, size_t room)
{
    char path[4096];
    FILE *file;
    size_t length;

    snprintf(path, sizeof path, "%s/fuzz/corpora/hello/%s", AGENTBOX_SOURCE_ROOT, name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s", path);
    length = fread(bytes, 1, room, file);
    fclose(file);
    return length;
}

START_TEST(greetings_of_real_clients_are_read)
{
    const struct kept_case *c = &kept_cases[_i];
    uint8_t bytes[HELLO_MAX];
    size_t length = read_kept(c->file, bytes, sizeof bytes);
    struct hello hello;

    ck_assert_msg(hello_parse(bytes, length, &hello) == HELLO_TLS, "%s", c->file);
    ck_assert_str_eq(hello.name, c->name);
    ck_assert_msg(hello.has_ech == c->has_ech && hello.has_alpn == c->has_alpn &&
                          hello.offers_http1 == c->offers_http1 &&
                          hello.offers_http2 == c->offers_http2,
            "%s", c->file);
}
END_TEST

START_TEST(a_greeting_that_is_cut_anywhere_wants_more)
{
    uint8_t bytes[HELLO_MAX];
    size_t length = read_kept(kept_cases[_i].file, bytes, sizeof bytes);

    for (size_t cut = 0; cut < length; cut++) {
        AUTO(freep) uint8_t *exact = malloc(cut + 1);
        struct hello hello;

        memcpy(exact, bytes, cut);
        ck_assert_msg(hello_parse(exact, cut, &hello) == HELLO_MORE, "%s cut at %zu",
                kept_cases[_i].file, cut);
    }
}
END_TEST

static const struct live_case {
    const char *what;
    const char *argv[8]; /* %s is the port */
} live_cases[] = {
    { "openssl", { "openssl", "s_client", "-connect", "127.0.0.1:%s", "-servername", "live.example",
                         NULL } },
    { "curl", { "curl", "-s", "--connect-to", "::127.0.0.1:%s", "https://live.example/", NULL } },
    { "python",
            { "python3", "-c",
                    "import ssl, socket\n"
                    "s = socket.create_connection(('127.0.0.1', %s))\n"
                    "ssl.create_default_context().wrap_socket(s, server_hostname='live.example')",
                    NULL } },
    { "node", { "node", "-e",
                      "require('tls').connect({ host: '127.0.0.1', port: %s, servername: "
                      "'live.example' }).on('error', () => {})",
                      NULL } },
};

/* Starts the client on a port where `listener` listens. */
static pid_t
start_client(const struct live_case *c, int listener)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t size = sizeof address;
    char port[8], texts[8][256], *argv[8] = { 0 };
    posix_spawn_file_actions_t actions;
    pid_t pid;

    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(port, sizeof port, "%u", ntohs(address.sin_port));
    for (size_t i = 0; c->argv[i] != NULL; i++) {
        const char *place = strstr(c->argv[i], "%s");
        size_t before = place != NULL ? (size_t)(place - c->argv[i]) : strlen(c->argv[i]);

        snprintf(texts[i], sizeof texts[i], "%.*s%s%s", (int)before, c->argv[i],
                place != NULL ? port : "", place != NULL ? place + 2 : "");
        argv[i] = texts[i];
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    ck_assert_msg(posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0, "%s", argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

START_TEST(greetings_of_installed_clients_are_read)
{
    AUTO(closep) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    AUTO(closep) int client = -1;
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    uint8_t bytes[HELLO_BYTES_MAX];
    size_t length = 0;
    struct hello hello;
    enum hello_result result = HELLO_MORE;
    pid_t pid;

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    pid = start_client(&live_cases[_i], listener);
    ck_assert_msg(poll(&ready, 1, 30000) == 1, "%s does not come", live_cases[_i].what);
    client = accept(listener, NULL, NULL);
    while (result == HELLO_MORE) {
        ssize_t got = recv(client, bytes + length, sizeof bytes - length, 0);

        ck_assert_msg(got > 0, "%s says too little", live_cases[_i].what);
        length += (size_t)got;
        result = hello_parse(bytes, length, &hello);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_msg(result == HELLO_TLS, "%s", live_cases[_i].what);
    ck_assert_str_eq(hello.name, "live.example");
}
END_TEST

/* ---- made ones ------------------------------------------------------------------------------ */
struct made {
    uint8_t bytes[HELLO_BYTES_MAX + 64];
    size_t length;
};

static void
put(struct made *made, const void *bytes, size_t length)
{
    ck_assert_uint_le(made->length + length, sizeof made->bytes);
    memcpy(made->bytes + made->length, bytes, length);
    made->length += length;
}

static void
put_number(struct made *made, size_t value, size_t bytes)
{
    for (size_t i = bytes; i > 0; i--) {
        uint8_t byte = (uint8_t)(value >> (8 * (i - 1)));

        put(made, &byte, 1);
    }
}

/* A greeting with these extensions, in one record. */
static void
make_hello(struct made *made, const void *extensions, size_t length)
{
    static const uint8_t random[32] = { 7 };

    made->length = 0;
    put(made, "\26\3\1", 3);
    put_number(made, 4 + 2 + 32 + 1 + 4 + 2 + 2 + length, 2);
    put(made, "\1", 1);
    put_number(made, 2 + 32 + 1 + 4 + 2 + 2 + length, 3);
    put(made, "\3\3", 2);
    put(made, random, sizeof random);
    put(made, "\0", 1);
    put(made, "\0\2\x13\1\1\0", 6);
    put_number(made, length, 2);
    put(made, extensions, length);
}

/* The extension that names a host. */
static void
put_name(struct made *made, const void *name, size_t length)
{
    put_number(made, 0, 2);
    put_number(made, length + 5, 2);
    put_number(made, length + 3, 2);
    put_number(made, 0, 1);
    put_number(made, length, 2);
    put(made, name, length);
}

#define LABEL63 "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz_0123456789"
#define NAME(text, result)                                                                         \
    {                                                                                              \
        text, sizeof(text) - 1, result                                                             \
    }
static const struct name_case {
    const char *name;
    size_t length;
    enum hello_result result;
} name_cases[] = {
    NAME("a.example", HELLO_TLS),
    NAME("_x-1.example", HELLO_TLS),
    NAME("127.0.0.1", HELLO_TLS),
    NAME("", HELLO_BAD),
    NAME(".", HELLO_BAD),
    NAME(".a", HELLO_BAD),
    NAME("a..b", HELLO_BAD),
    NAME("a.example.", HELLO_BAD),
    NAME("evil.example\0.a.example", HELLO_BAD),
    NAME("a.example\0", HELLO_BAD),
    NAME("a example", HELLO_BAD),
    NAME("a.example:443", HELLO_BAD),
    NAME("[::1]", HELLO_BAD),
    NAME("m\xc3\xbcller.example", HELLO_BAD),
    NAME("a.example\n", HELLO_BAD),
    NAME("*.example", HELLO_BAD),
    NAME(LABEL63 ".a", HELLO_BAD),
};

START_TEST(a_name_is_a_host_name_or_the_greeting_is_refused)
{
    const struct name_case *c = &name_cases[_i];
    struct made extensions = { .length = 0 }, made;
    struct hello hello;

    put_name(&extensions, c->name, c->length);
    make_hello(&made, extensions.bytes, extensions.length);
    ck_assert_msg(hello_parse(made.bytes, made.length, &hello) == c->result, "'%s'", c->name);
    ck_assert(c->result != HELLO_TLS || strcmp(hello.name, c->name) == 0);
}
END_TEST

START_TEST(the_longest_name_fits_and_one_more_does_not)
{
    for (size_t length = 253; length <= 254; length++) {
        struct made extensions = { .length = 0 }, made;
        char name[254];
        struct hello hello;

        memset(name, 'A', sizeof name);
        name[60] = name[120] = name[180] = name[240] = '.';
        put_name(&extensions, name, length);
        make_hello(&made, extensions.bytes, extensions.length);
        ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello),
                length == 253 ? HELLO_TLS : HELLO_BAD);
        ck_assert(length != 253 || (strlen(hello.name) == 253 && hello.name[0] == 'a'));
    }
}
END_TEST

#define EXTENSIONS(text, result) text, sizeof(text) - 1, result
static const struct extension_case {
    const char *what;
    const char *bytes;
    size_t length;
    enum hello_result result;
} extension_cases[] = {
    { "two names in one list", EXTENSIONS("\0\0\0\12\0\10\0\0\1a\0\0\1b", HELLO_BAD) },
    { "two lists", EXTENSIONS("\0\0\0\6\0\4\0\0\1a\0\0\0\6\0\4\0\0\1a", HELLO_BAD) },
    { "a name of another kind", EXTENSIONS("\0\0\0\6\0\4\1\0\1a", HELLO_BAD) },
    { "an empty list", EXTENSIONS("\0\0\0\2\0\0", HELLO_BAD) },
    { "an empty extension", EXTENSIONS("\0\0\0\0", HELLO_BAD) },
    { "a list that ends early", EXTENSIONS("\0\0\0\7\0\4\0\0\1ab", HELLO_BAD) },
    { "a list that is too long", EXTENSIONS("\0\0\0\6\0\5\0\0\1a", HELLO_BAD) },
    { "a name that is too long", EXTENSIONS("\0\0\0\6\0\4\0\0\2a", HELLO_BAD) },
    { "an extension that is too long", EXTENSIONS("\0\0\0\7\0\4\0\0\1a", HELLO_BAD) },
    { "half an extension", EXTENSIONS("\0\12\0", HELLO_BAD) },
    { "unknown extensions are nothing", EXTENSIONS("\x0a\x0a\0\1x\0\0\0\6\0\4\0\0\1a", HELLO_TLS) },
    { "no protocol", EXTENSIONS("\0\20\0\2\0\0", HELLO_BAD) },
    { "an empty protocol", EXTENSIONS("\0\20\0\3\0\1\0", HELLO_BAD) },
    { "a protocol that is too long", EXTENSIONS("\0\20\0\4\0\2\2h", HELLO_BAD) },
    { "protocols twice", EXTENSIONS("\0\20\0\5\0\3\2h2\0\20\0\5\0\3\2h2", HELLO_BAD) },
    { "a protocol", EXTENSIONS("\0\20\0\5\0\3\2h2", HELLO_TLS) },
};

START_TEST(extensions_are_read_strictly)
{
    const struct extension_case *c = &extension_cases[_i];
    struct made made;
    struct hello hello;

    make_hello(&made, c->bytes, c->length);
    ck_assert_msg(hello_parse(made.bytes, made.length, &hello) == c->result, "%s", c->what);
}
END_TEST

START_TEST(what_hides_the_name_is_seen)
{
    static const char *const bytes[] = { "\xfe\x0d\0\1\0", "\xff\xce\0\1\0" };

    for (size_t i = 0; i < N_ELEMENTS(bytes); i++) {
        struct made made;
        struct hello hello;

        make_hello(&made, bytes[i], 5);
        ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_TLS);
        ck_assert(hello.has_ech);
    }
}
END_TEST

static const struct record_case {
    const char *what;
    size_t at; /* this byte of a good greeting */
    int byte; /* becomes this */
    enum hello_result result;
} record_cases[] = {
    { "as it is", 0, 22, HELLO_TLS },
    { "an alert first", 0, 21, HELLO_OTHER },
    { "data first", 0, 23, HELLO_OTHER },
    { "text", 0, 'G', HELLO_OTHER },
    { "SSL 2", 0, 0x80, HELLO_OTHER },
    { "a version that some servers do not look at", 1, 2, HELLO_BAD },
    { "SSL 3", 2, 0, HELLO_TLS },
    { "another message", 5, 2, HELLO_BAD },
    { "a message of 16 MiB", 6, 255, HELLO_BAD },
    { "a message that ends before its record", 8, 1, HELLO_BAD },
    { "version 4", 9, 4, HELLO_BAD },
    { "a session of 33 bytes", 43, 33, HELLO_BAD },
    { "an odd number of bytes of ciphers", 45, 1, HELLO_BAD },
    { "no cipher", 45, 0, HELLO_BAD },
    { "no compression", 48, 0, HELLO_BAD },
    { "extensions that are too long", 51, 11, HELLO_BAD },
    { "extensions that are too short", 51, 9, HELLO_BAD },
};

START_TEST(records_and_the_message_are_read_strictly)
{
    const struct record_case *c = &record_cases[_i];
    struct made made;
    struct hello hello;

    make_hello(&made, "\0\0\0\6\0\4\0\0\1a", 10);
    made.bytes[c->at] = (uint8_t)c->byte;
    ck_assert_msg(hello_parse(made.bytes, made.length, &hello) == c->result, "%s", c->what);
}
END_TEST

START_TEST(a_message_without_extensions_is_a_greeting)
{
    struct made made;
    struct hello hello = { .name = "x" };

    make_hello(&made, "", 0);
    made.length -= 2;
    made.bytes[4] = (uint8_t)(made.bytes[4] - 2);
    made.bytes[8] = (uint8_t)(made.bytes[8] - 2);
    ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_TLS);
    ck_assert_str_eq(hello.name, "");
}
END_TEST

START_TEST(a_zero_byte_first_and_binary_of_others_is_no_tls)
{
    struct hello hello;

    ck_assert_int_eq(hello_parse((const uint8_t *)"\26\0\0\0\5x", 6, &hello), HELLO_OTHER);
    ck_assert_int_eq(hello_parse((const uint8_t *)"\26\0\0\0\5", 5, &hello), HELLO_MORE);
    ck_assert_int_eq(hello_parse((const uint8_t *)"\26\0\0\0\5\1", 6, &hello), HELLO_BAD);
    ck_assert_int_eq(hello_parse((const uint8_t *)"\26\3\1\0\0\26\3\1", 8, &hello), HELLO_BAD);
    ck_assert_int_eq(hello_parse((const uint8_t *)"SSH-2.0-x\r\n", 11, &hello), HELLO_OTHER);
    ck_assert_int_eq(hello_parse((const uint8_t *)"", 0, &hello), HELLO_MORE);
}
END_TEST

/* The same message over records of `piece` bytes. */
static void
split(const struct made *whole, size_t piece, struct made *made)
{
    made->length = 0;
    for (size_t at = 5; at < whole->length; at += piece) {
        size_t length = whole->length - at < piece ? whole->length - at : piece;

        put(made, "\26\3\1", 3);
        put_number(made, length, 2);
        put(made, whole->bytes + at, length);
    }
}

START_TEST(a_greeting_may_come_in_many_records)
{
    struct made whole, made;
    struct hello hello;

    make_hello(&whole, "\0\0\0\6\0\4\0\0\1a", 10);
    for (size_t piece = 1; piece < whole.length; piece++) {
        split(&whole, piece, &made);
        ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_TLS);
        ck_assert_str_eq(hello.name, "a");
        for (size_t cut = 0; cut < made.length; cut++) {
            ck_assert_int_eq(hello_parse(made.bytes, cut, &hello), HELLO_MORE);
        }
        if (piece < whole.length - 5) { /* another type in the middle */
            made.bytes[5 + piece] = 20;
            ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_BAD);
            made.bytes[5 + piece] = 22;
            made.bytes[5 + piece + 4] = 0; /* an empty record */
            ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_BAD);
        }
    }
}
END_TEST

START_TEST(what_comes_after_the_greeting_is_not_looked_at_but_not_in_its_record)
{
    struct made made;
    struct hello hello;

    make_hello(&made, "\0\0\0\6\0\4\0\0\1a", 10);
    put(&made, "\27\3\3\0\1x", 6); /* early data */
    ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_TLS);
    make_hello(&made, "\0\0\0\6\0\4\0\0\1a", 10);
    made.bytes[4]++;
    put(&made, "x", 1);
    ck_assert_int_eq(hello_parse(made.bytes, made.length, &hello), HELLO_BAD);
}
END_TEST

START_TEST(more_than_16_KiB_is_no_greeting)
{
    static struct made extensions, made, small;
    struct hello hello;

    /* One too many, and the largest that fits. */
    for (size_t more = 2; more-- > 0;) {
        size_t padding = HELLO_MAX - 4 - 2 - 32 - 1 - 4 - 2 - 2 - 4 + more;

        extensions.length = 0;
        put_number(&extensions, 21, 2);
        put_number(&extensions, padding, 2);
        memset(extensions.bytes + extensions.length, 0, padding);
        extensions.length += padding;
        make_hello(&made, extensions.bytes, extensions.length);
        ck_assert_int_eq(
                hello_parse(made.bytes, made.length, &hello), more == 0 ? HELLO_TLS : HELLO_BAD);
        ck_assert_int_eq(hello_parse(made.bytes, 100, &hello), more == 0 ? HELLO_MORE : HELLO_BAD);
    }
    /* In records of one byte nobody waits for the end. */
    made.length = 5 + 5465;
    split(&made, 1, &small);
    ck_assert_int_eq(hello_parse(small.bytes, HELLO_BYTES_MAX - 1, &hello), HELLO_MORE);
    ck_assert_int_eq(hello_parse(small.bytes, HELLO_BYTES_MAX, &hello), HELLO_BAD);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("hello");
    TCase *real = tcase_create("real"), *made = tcase_create("made");

    tcase_set_timeout(real, 60);
    tcase_add_loop_test(real, greetings_of_real_clients_are_read, 0, N_ELEMENTS(kept_cases));
    tcase_add_loop_test(
            real, a_greeting_that_is_cut_anywhere_wants_more, 0, N_ELEMENTS(kept_cases));
    tcase_add_loop_test(real, greetings_of_installed_clients_are_read, 0, N_ELEMENTS(live_cases));
    suite_add_tcase(suite, real);
    tcase_add_loop_test(
            made, a_name_is_a_host_name_or_the_greeting_is_refused, 0, N_ELEMENTS(name_cases));
    tcase_add_test(made, the_longest_name_fits_and_one_more_does_not);
    tcase_add_loop_test(made, extensions_are_read_strictly, 0, N_ELEMENTS(extension_cases));
    tcase_add_test(made, what_hides_the_name_is_seen);
    tcase_add_loop_test(
            made, records_and_the_message_are_read_strictly, 0, N_ELEMENTS(record_cases));
    tcase_add_test(made, a_message_without_extensions_is_a_greeting);
    tcase_add_test(made, a_zero_byte_first_and_binary_of_others_is_no_tls);
    tcase_add_test(made, a_greeting_may_come_in_many_records);
    tcase_add_test(made, what_comes_after_the_greeting_is_not_looked_at_but_not_in_its_record);
    tcase_add_test(made, more_than_16_KiB_is_no_greeting);
    suite_add_tcase(suite, made);
    return suite;
}

UNIT_MAIN(make_suite)
