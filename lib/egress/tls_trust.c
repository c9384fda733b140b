/* SPDX-License-Identifier: Apache-2.0
 * Who is believed outside.  To read the host's store takes some 15 ms, so a thread does that once
 * per context, from the first box on; who verifies before it is done waits for the rest. */
#include "egress/tls_private.h"

#include "base/mem.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16u

struct store {
    gnutls_x509_trust_list_t list; /* the thread's until it is joined */
    pthread_t thread;
    bool is_read; /* egress thread, or who frees it */
};

struct trust {
    struct store *store;
    gnutls_x509_trust_list_t extra; /* NULL: none */
    gnutls_certificate_credentials_t credentials;
    struct tickets tickets; /* egress thread */
};

static void *
read_store(void *data)
{
    struct store *store = data;

    /* A host without a store believes nobody: each connection then says so. */
    gnutls_x509_trust_list_add_system_trust(store->list, 0, 0);
    return NULL;
}

abx_status
store_new(struct store **ret_store, struct fail *fail)
{
    struct store *store = calloc(1, sizeof *store);
    int r;

    if (store == NULL) {
        return fail_nomem(fail);
    }
    r = gnutls_x509_trust_list_init(&store->list, 0);
    if (r < 0) {
        free(store);
        return tls_fail(fail, r, "tls:store");
    }
    r = thread_start(&store->thread, 0, read_store, store);
    if (r != 0) {
        gnutls_x509_trust_list_deinit(store->list, 1);
        free(store);
        return fail_set(fail, ABX_ERR_SETUP, r, "tls:store", "no thread to read the trust store");
    }
    *ret_store = store;
    return ABX_OK;
}

static gnutls_x509_trust_list_t
wait_for(struct store *store)
{
    if (!store->is_read) {
        pthread_join(store->thread, NULL);
        store->is_read = true;
    }
    return store->list;
}

void
store_free(struct store *store)
{
    if (store != NULL) {
        gnutls_x509_trust_list_deinit(wait_for(store), 1);
        free(store);
    }
}

static int
add_extra(struct trust *trust, const char *pem)
{
    gnutls_datum_t text = { (unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem) };
    int r = gnutls_x509_trust_list_init(&trust->extra, 0);

    return r < 0 ? r
                 : gnutls_x509_trust_list_add_trust_mem(
                           trust->extra, &text, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
}

abx_status
trust_new(struct store *store, const char *extra_pem, struct trust **ret_trust, struct fail *fail)
{
    struct trust *trust = calloc(1, sizeof *trust);
    int r;

    if (trust == NULL) {
        return fail_nomem(fail);
    }
    trust->store = store;
    r = gnutls_certificate_allocate_credentials(&trust->credentials);
    if (r < 0) {
        trust_free(trust);
        return tls_fail(fail, r, "tls:trust");
    }
    r = extra_pem == NULL ? 1 : add_extra(trust, extra_pem);
    if (r <= 0) {
        trust_free(trust);
        return r == GNUTLS_E_MEMORY_ERROR ? fail_nomem(fail)
                                          : fail_set(fail, ABX_ERR_POLICY, 0, "tls:extra-ca",
                                                    "what is to be believed besides the host's "
                                                    "store is no certificate: %s",
                                                    r == 0 ? "it is empty" : gnutls_strerror(r));
    }
    *ret_trust = trust;
    return ABX_OK;
}

void
trust_free(struct trust *trust)
{
    if (trust == NULL) {
        return;
    }
    tickets_done(&trust->tickets);
    if (trust->extra != NULL) {
        gnutls_x509_trust_list_deinit(trust->extra, 1);
    }
    if (trust->credentials != NULL) {
        gnutls_certificate_free_credentials(trust->credentials);
    }
    free(trust);
}

gnutls_certificate_credentials_t
trust_credentials(const struct trust *trust)
{
    return trust->credentials;
}

struct tickets *
trust_tickets(struct trust *trust)
{
    return &trust->tickets;
}

/* ---- verifying ---- */
struct chain {
    gnutls_x509_crt_t certificates[CHAIN_MAX];
    unsigned length;
};

static int
read_chain(gnutls_session_t session, struct chain *chain)
{
    unsigned length = 0;
    const gnutls_datum_t *raw = gnutls_certificate_get_peers(session, &length);

    if (raw == NULL || length == 0 || length > CHAIN_MAX) {
        return GNUTLS_E_NO_CERTIFICATE_FOUND;
    }
    while (chain->length < length) {
        gnutls_x509_crt_t *certificate = &chain->certificates[chain->length];
        int r = gnutls_x509_crt_init(certificate);

        if (r < 0) {
            return r;
        }
        chain->length++;
        r = gnutls_x509_crt_import(*certificate, &raw[chain->length - 1], GNUTLS_X509_FMT_DER);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static const char *
why_not(unsigned status)
{
    static const struct {
        unsigned bit;
        const char *why;
    } reasons[] = {
        { GNUTLS_CERT_UNEXPECTED_OWNER, "its certificate is for another name" },
        { GNUTLS_CERT_EXPIRED, "its certificate has expired" },
        { GNUTLS_CERT_NOT_ACTIVATED, "its certificate is not valid yet" },
        { GNUTLS_CERT_REVOKED, "its certificate was revoked" },
        { GNUTLS_CERT_PURPOSE_MISMATCH, "its certificate is not for servers" },
        { GNUTLS_CERT_INSECURE_ALGORITHM, "its certificate is signed in a way that is too weak" },
        { GNUTLS_CERT_SIGNER_NOT_FOUND, "nobody who is trusted signed its certificate" },
    };

    for (size_t i = 0; i < N_ELEMENTS(reasons); i++) {
        if ((status & reasons[i].bit) != 0) {
            return reasons[i].why;
        }
    }
    return "its certificate is not trusted";
}

/* The status by one list: 0 is trusted. */
static unsigned
status_by(gnutls_x509_trust_list_t list, struct chain *chain, const char *name)
{
    unsigned status = GNUTLS_CERT_INVALID;
    gnutls_typed_vdata_st wanted[2] = {
        { GNUTLS_DT_DNS_HOSTNAME, (unsigned char *)(uintptr_t)name, 0 },
        { GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_SERVER, 0 },
    };
    int r = gnutls_x509_trust_list_verify_crt2(
            list, chain->certificates, chain->length, wanted, N_ELEMENTS(wanted), 0, &status, NULL);

    return r < 0 ? GNUTLS_CERT_INVALID : status;
}

int
trust_verify(struct trust *trust, gnutls_session_t session, const char *name, const char **ret_why)
{
    struct chain chain = { .length = 0 };
    unsigned status = GNUTLS_CERT_INVALID;
    int r = read_chain(session, &chain);

    if (r == 0 && trust->extra != NULL) {
        status = status_by(trust->extra, &chain, name);
    }
    if (r == 0 && status != 0) {
        status = status_by(wait_for(trust->store), &chain, name);
    }
    for (unsigned i = 0; i < chain.length; i++) {
        gnutls_x509_crt_deinit(chain.certificates[i]);
    }
    if (r == 0 && status == 0) {
        return 0;
    }
    *ret_why = r < 0 ? "its certificate cannot be read" : why_not(status);
    return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
}
