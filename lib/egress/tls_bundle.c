/* SPDX-License-Identifier: Apache-2.0
 * Makes the files that say whom programs of a box believe: certificates as PEM, and the same as a
 * keystore of Java (JKS, which every Java reads, with or without its password).  Only certificates
 * get in, whatever else the sources hold: a file of authorities may have a key beside them. */
#include "egress/tls_private.h"

#include "base/mem.h"
#include "base/str.h"

#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"

/* com.sun.crypto.provider.JavaKeyStore: no document says more than its source does. */
#define STORE_MAGIC 0xfeedfeedu
#define STORE_VERSION 2u
#define STORE_COUNT_AT 8u
#define STORE_TRUSTED 2u
#define STORE_KIND "X.509"
#define STORE_WHITENER "Mighty Aphrodite"
#define STORE_PASSWORD "changeit" /* no secret: that of every cacerts, and it protects nothing */
#define SHA1_SIZE 20u

struct making {
    struct str pem, store;
    uint32_t n;
    uint64_t now_ms;
};

static void
add_number(struct str *out, uint64_t number, unsigned n_bytes)
{
    while (n_bytes-- > 0) {
        const char byte = (char)(number >> (n_bytes * 8));

        str_add_bytes(out, &byte, 1);
    }
}

static void
add_name(struct str *out, const char *name)
{
    add_number(out, strlen(name), 2);
    str_add(out, name);
}

static void
add_to_store(struct making *making, const gnutls_datum_t *der)
{
    char alias[32];

    snprintf(alias, sizeof alias, "agentbox-%u", making->n);
    add_number(&making->store, STORE_TRUSTED, 4);
    add_name(&making->store, alias);
    add_number(&making->store, making->now_ms, 8);
    add_name(&making->store, STORE_KIND);
    add_number(&making->store, der->size, 4);
    str_add_bytes(&making->store, (const char *)der->data, der->size);
}

/* What cannot be decoded is left out: a reader of the file would stop there. */
static int
add_certificate(struct making *making, const char *text, size_t length)
{
    const gnutls_datum_t block = { (unsigned char *)(uintptr_t)text, (unsigned)length };
    gnutls_datum_t der = { 0 };
    int r = gnutls_pem_base64_decode2("CERTIFICATE", &block, &der);

    if (r < 0) {
        return r == GNUTLS_E_MEMORY_ERROR ? r : 0;
    }
    str_add_bytes(&making->pem, text, length);
    str_add(&making->pem, "\n");
    add_to_store(making, &der);
    making->n++;
    gnutls_free(der.data);
    return 0;
}

static int
add_certificates(struct making *making, const char *pem)
{
    const char *begin, *end;
    int r = 0;

    while (r == 0 && pem != NULL && (begin = strstr(pem, BEGIN)) != NULL &&
            (end = strstr(begin, END)) != NULL) {
        pem = end + strlen(END);
        r = add_certificate(making, begin, (size_t)(pem - begin));
    }
    return r;
}

/* The number of entries, and the digest that says that nobody changed them. */
static int
finish_store(struct making *making)
{
    struct str text = { 0 };
    uint8_t digest[SHA1_SIZE];
    int r;

    if (making->store.failed) {
        return GNUTLS_E_MEMORY_ERROR;
    }
    for (unsigned i = 0; i < 4; i++) {
        making->store.data[STORE_COUNT_AT + i] = (char)(making->n >> (24 - i * 8));
    }
    for (const char *letter = STORE_PASSWORD; *letter != '\0'; letter++) {
        add_number(&text, (unsigned char)*letter, 2);
    }
    str_add(&text, STORE_WHITENER);
    str_add_bytes(&text, making->store.data, making->store.length);
    r = text.failed ? GNUTLS_E_MEMORY_ERROR
                    : gnutls_hash_fast(GNUTLS_DIG_SHA1, text.data, text.length, digest);
    if (r >= 0) {
        str_add_bytes(&making->store, (const char *)digest, sizeof digest);
    }
    str_done(&text);
    return r;
}

static int
make(struct making *making, const struct authority *authority, const char *host_pem,
        const char *extra_pem)
{
    int r;

    add_number(&making->store, STORE_MAGIC, 4);
    add_number(&making->store, STORE_VERSION, 4);
    add_number(&making->store, 0, 4);
    r = add_certificates(making, host_pem);
    r = r < 0 ? r : add_certificates(making, extra_pem);
    r = r < 0 ? r : add_certificates(making, authority_pem(authority));
    return r < 0 ? r : finish_store(making);
}

abx_status
bundle_make(const struct authority *authority, const char *host_pem, const char *extra_pem,
        struct trust_files *ret_files, struct fail *fail)
{
    struct making making = { .now_ms = (uint64_t)time(NULL) * 1000u };
    struct trust_files files = { 0 };
    int r = make(&making, authority, host_pem, extra_pem);

    if (r >= 0) {
        files.bundle = str_steal(&making.pem, &files.bundle_length);
        files.store = str_steal(&making.store, &files.store_length);
        r = files.bundle == NULL || files.store == NULL ? GNUTLS_E_MEMORY_ERROR : 0;
    }
    str_done(&making.pem);
    str_done(&making.store);
    if (r < 0) {
        free(files.bundle);
        free(files.store);
        return tls_fail(fail, r, "tls:bundle");
    }
    *ret_files = files;
    return ABX_OK;
}
