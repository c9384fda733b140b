/* SPDX-License-Identifier: Apache-2.0
 * Owns the authority and the trust store of a context, and begins sessions.  A policy that wants
 * requests read opens no box in a build that cannot. */
#include "egress/reading.h"

#include "egress/session.h"
#include "egress/tls.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PEM_MAX (1u << 20)

struct reading {
    pthread_mutex_t lock; /* guards the making; what is made stays */
    struct authority *authority;
    struct store *store;
};

struct reading *
reading_new(void)
{
    struct reading *reading = calloc(1, sizeof *reading);

    if (reading != NULL) {
        pthread_mutex_init(&reading->lock, NULL);
    }
    return reading;
}

void
reading_free(struct reading *reading)
{
    if (reading != NULL) {
        store_free(reading->store);
        authority_free(reading->authority);
        pthread_mutex_destroy(&reading->lock);
        free(reading);
    }
}

static abx_status
make(struct reading *reading, struct fail *fail)
{
    abx_status r = ABX_OK;

    pthread_mutex_lock(&reading->lock);
    if (reading->authority == NULL) {
        r = authority_new(&reading->authority, fail);
    }
    if (r == ABX_OK && reading->store == NULL) {
        r = store_new(&reading->store, fail);
    }
    pthread_mutex_unlock(&reading->lock);
    return r;
}

/* The text of the file, which the caller frees; 0, or an errno. */
static int
read_pem(const char *path, char **ret_pem)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    struct str text = { 0 };
    char bytes[4096];
    ssize_t n = 0;

    if (fd < 0 || fstat(fd, &status) < 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode)) {
        return EINVAL;
    }
    do {
        n = read(fd, bytes, sizeof bytes);
        str_add_bytes(&text, bytes, n > 0 ? (size_t)n : 0);
    } while ((n > 0 || (n < 0 && errno == EINTR)) && text.length <= PEM_MAX);
    if (n < 0 || text.length > PEM_MAX) {
        int error = n < 0 ? errno : EFBIG;

        str_done(&text);
        return error;
    }
    *ret_pem = str_steal(&text, NULL);
    return *ret_pem == NULL ? ENOMEM : 0;
}

/* Once: outside and in the box the same are believed. */
static abx_status
read_extra(struct egress_box *box, struct fail *fail)
{
    const char *path = policy_get_settings(box->policy)->extra_ca;
    int error = path == NULL ? 0 : read_pem(path, &box->extra_ca);

    if (error == 0) {
        return ABX_OK;
    }
    return error == ENOMEM ? fail_nomem(fail)
                           : fail_set(fail, ABX_ERR_POLICY, error, "read:extra-ca",
                                     "'%s' is not read", path);
}

abx_status
reading_open(struct egress_box *box, struct fail *fail)
{
    abx_status r;

    if (policy_adds_trust(box->policy) == NULL) {
        return ABX_OK;
    }
    r = make(box->egress->reading, fail);
    if (r == ABX_OK) {
        r = read_extra(box, fail);
    }
    return r < 0 ? r : trust_new(box->egress->reading->store, box->extra_ca, &box->trust, fail);
}

void
reading_close(struct egress_box *box)
{
    trust_free(box->trust);
    free(box->extra_ca);
}

const char *
egress_authority(struct egress_box *box)
{
    return box->trust == NULL ? NULL : authority_pem(box->egress->reading->authority);
}

abx_status
egress_trust(struct egress_box *box, const char *host_bundle, struct trust_files *ret_files,
        struct fail *fail)
{
    AUTO(freep) char *host = NULL;
    int error = host_bundle == NULL ? 0 : read_pem(host_bundle, &host);

    if (error != 0) {
        return error == ENOMEM ? fail_nomem(fail)
                               : fail_set(fail, ABX_ERR_SETUP, error, "read:bundle",
                                         "'%s' is not read", host_bundle);
    }
    return bundle_make(box->egress->reading->authority, host, box->extra_ca, ret_files, fail);
}

void
reading_start(struct egress_box *box, const struct errand *errand, const char *name, bool is_tls,
        int inside, int outside)
{
    struct errand to = *errand;
    struct session_setup setup = {
        .box = box,
        .errand = &to,
        .is_tls = is_tls,
        .authority = is_tls ? box->egress->reading->authority : NULL,
        .trust = is_tls ? box->trust : NULL,
    };

    to.destination.name = name;
    session_start(&setup, inside, outside);
}
