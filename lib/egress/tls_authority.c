/* SPDX-License-Identifier: Apache-2.0
 * Makes the authority of a context, and certificates in its name for what is terminated.  The keys
 * are made here, are given to nobody and are wiped with the authority; so it does not matter much
 * that the certificates are valid for longer than most contexts live.  All leaves share a key: they
 * are all ours, in one process. */
#include "egress/tls_private.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S (24 * 60 * 60)
#define VALID_DAYS 365
#define SERIAL_SIZE 16u
#define COMMON_NAME_MAX 64u
#define LEAVES_MAX 256u

struct leaf {
    unsigned refs; /* of the authority and of connections; egress thread */
    struct leaf *next;
    gnutls_certificate_credentials_t credentials;
    char name[];
};

struct authority {
    gnutls_x509_privkey_t key, leaf_key;
    gnutls_x509_crt_t certificate;
    gnutls_datum_t ticket_key;
    gnutls_datum_t pem;
    struct leaf *leaves; /* the one used last comes first */
};

abx_status
tls_fail(struct fail *fail, int error, const char *step)
{
    return error == GNUTLS_E_MEMORY_ERROR
                   ? fail_nomem(fail)
                   : fail_set(fail, ABX_ERR_SETUP, 0, step, "TLS: %s", gnutls_strerror(error));
}

/* ---- certificates ---- */
static int
make_key(gnutls_x509_privkey_t *ret_key)
{
    int r = gnutls_x509_privkey_init(ret_key);

    return r < 0 ? r
                 : gnutls_x509_privkey_generate(*ret_key, GNUTLS_PK_ECDSA,
                           GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

/* What every certificate has. */
static int
make_certificate(gnutls_x509_privkey_t key, const char *name, gnutls_x509_crt_t *ret_certificate)
{
    uint8_t serial[SERIAL_SIZE], id[64];
    size_t id_size = sizeof id;
    time_t now = time(NULL);
    gnutls_x509_crt_t certificate;
    int r = gnutls_x509_crt_init(ret_certificate);

    if (r < 0) {
        return r;
    }
    certificate = *ret_certificate;
    r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] = (uint8_t)((serial[0] & 0x7f) | 0x40); /* positive, and of one length */
    r = r < 0 ? r : gnutls_x509_crt_set_version(certificate, 3);
    r = r < 0 ? r : gnutls_x509_crt_set_serial(certificate, serial, sizeof serial);
    r = r < 0 ? r : gnutls_x509_crt_set_activation_time(certificate, now - DAY_S);
    r = r < 0 ? r : gnutls_x509_crt_set_expiration_time(certificate, now + VALID_DAYS * DAY_S);
    r = r < 0 ? r : gnutls_x509_crt_set_key(certificate, key);
    if (r >= 0 && strlen(name) <= COMMON_NAME_MAX) {
        r = gnutls_x509_crt_set_dn_by_oid(
                certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name, (unsigned)strlen(name));
    }
    r = r < 0 ? r : gnutls_x509_crt_get_key_id(certificate, 0, id, &id_size);
    return r < 0 ? r : gnutls_x509_crt_set_subject_key_id(certificate, id, id_size);
}

static int
sign(const struct authority *authority, gnutls_x509_crt_t certificate)
{
    uint8_t id[64];
    size_t size = sizeof id;
    int r = gnutls_x509_crt_get_subject_key_id(authority->certificate, id, &size, NULL);

    r = r < 0 ? r : gnutls_x509_crt_set_authority_key_id(certificate, id, size);
    return r < 0 ? r
                 : gnutls_x509_crt_sign2(certificate, authority->certificate, authority->key,
                           GNUTLS_DIG_SHA256, 0);
}

static int
make_authority(struct authority *authority)
{
    gnutls_x509_crt_t certificate;
    int r = make_key(&authority->key);

    r = r < 0 ? r : make_key(&authority->leaf_key);
    r = r < 0 ? r : gnutls_session_ticket_key_generate(&authority->ticket_key);
    r = r < 0 ? r
              : make_certificate(
                        authority->key, "agentbox, one process only", &authority->certificate);
    if (r < 0) {
        return r;
    }
    certificate = authority->certificate;
    r = gnutls_x509_crt_set_basic_constraints(certificate, 1, 0);
    r = r < 0 ? r
              : gnutls_x509_crt_set_key_usage(
                        certificate, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
    r = r < 0 ? r : sign(authority, certificate);
    return r < 0 ? r : gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &authority->pem);
}

abx_status
authority_new(struct authority **ret_authority, struct fail *fail)
{
    struct authority *authority = calloc(1, sizeof *authority);
    int r;

    if (authority == NULL) {
        return fail_nomem(fail);
    }
    r = make_authority(authority);
    if (r < 0) {
        authority_free(authority);
        return tls_fail(fail, r, "tls:authority");
    }
    *ret_authority = authority;
    return ABX_OK;
}

void
authority_free(struct authority *authority)
{
    if (authority == NULL) {
        return;
    }
    while (authority->leaves != NULL) {
        struct leaf *leaf = authority->leaves;

        authority->leaves = leaf->next;
        leaf_unref(leaf);
    }
    gnutls_x509_crt_deinit(authority->certificate);
    gnutls_x509_privkey_deinit(authority->key); /* wipes */
    gnutls_x509_privkey_deinit(authority->leaf_key);
    if (authority->ticket_key.data != NULL) {
        gnutls_memset(authority->ticket_key.data, 0, authority->ticket_key.size);
    }
    gnutls_free(authority->ticket_key.data);
    gnutls_free(authority->pem.data);
    free(authority);
}

const char *
authority_pem(const struct authority *authority)
{
    return (const char *)authority->pem.data;
}

const gnutls_datum_t *
authority_ticket_key(const struct authority *authority)
{
    return &authority->ticket_key;
}

/* ---- leaves ---- */
static int
set_name(gnutls_x509_crt_t certificate, const char *name)
{
    uint8_t address[16];
    int family = strchr(name, ':') != NULL ? AF_INET6 : AF_INET;

    if (inet_pton(family, name, address) == 1) {
        return gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, address,
                family == AF_INET ? 4 : 16, GNUTLS_FSAN_SET);
    }
    return gnutls_x509_crt_set_subject_alt_name(
            certificate, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name), GNUTLS_FSAN_SET);
}

static int
make_leaf(struct authority *authority, struct leaf *leaf)
{
    gnutls_x509_crt_t certificate = NULL;
    int r = make_certificate(authority->leaf_key, leaf->name, &certificate);

    r = r < 0 ? r : gnutls_x509_crt_set_basic_constraints(certificate, 0, -1);
    r = r < 0 ? r : gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE);
    r = r < 0 ? r : gnutls_x509_crt_set_key_purpose_oid(certificate, GNUTLS_KP_TLS_WWW_SERVER, 0);
    r = r < 0 ? r : set_name(certificate, leaf->name);
    r = r < 0 ? r : sign(authority, certificate);
    r = r < 0 ? r : gnutls_certificate_allocate_credentials(&leaf->credentials);
    if (r >= 0) {
        gnutls_certificate_set_flags(leaf->credentials, GNUTLS_CERTIFICATE_SKIP_KEY_CERT_MATCH);
        r = gnutls_certificate_set_x509_key(
                leaf->credentials, &certificate, 1, authority->leaf_key);
    }
    gnutls_x509_crt_deinit(certificate);
    return r;
}

/* Puts the leaf first; the last of too many goes. */
static void
keep(struct authority *authority, struct leaf *leaf)
{
    struct leaf **at = &authority->leaves;

    leaf->next = *at;
    *at = leaf;
    for (size_t n = 0; *at != NULL; n++) {
        if (n == LEAVES_MAX) {
            leaf_unref(*at);
            *at = NULL;
            break;
        }
        at = &(*at)->next;
    }
}

struct leaf *
authority_leaf(struct authority *authority, const char *name)
{
    struct leaf *leaf;

    for (struct leaf **at = &authority->leaves; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->name, name) == 0) {
            leaf = *at;
            *at = leaf->next;
            leaf->refs++;
            keep(authority, leaf);
            return leaf;
        }
    }
    leaf = calloc(1, sizeof *leaf + strlen(name) + 1);
    if (leaf == NULL) {
        return NULL;
    }
    leaf->refs = 1;
    memcpy(leaf->name, name, strlen(name) + 1);
    if (make_leaf(authority, leaf) < 0) {
        leaf_unref(leaf);
        return NULL;
    }
    leaf->refs++;
    keep(authority, leaf);
    return leaf;
}

gnutls_certificate_credentials_t
leaf_credentials(const struct leaf *leaf)
{
    return leaf->credentials;
}

void
leaf_unref(struct leaf *leaf)
{
    if (leaf == NULL || --leaf->refs > 0) {
        return;
    }
    if (leaf->credentials != NULL) {
        gnutls_certificate_free_credentials(leaf->credentials);
    }
    free(leaf);
}
