/* SPDX-License-Identifier: Apache-2.0
 * A build without TLS: what is encrypted passes as it is, and a policy that wants it read is
 * refused when the box opens.  Since nothing can be made, nothing else can be called. */
#include "egress/tls.h"

static abx_status
unsupported(struct fail *fail)
{
    fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "tls:none", "this build of the library has no TLS");
    fail_remedy(fail, "build it with -Dtls=enabled");
    return ABX_ERR_UNSUPPORTED;
}

abx_status
authority_new(struct authority **ret_authority, struct fail *fail)
{
    return unsupported(fail);
}

void
authority_free(struct authority *authority)
{
}

const char *
authority_pem(const struct authority *authority)
{
    return NULL;
}

abx_status
store_new(struct store **ret_store, struct fail *fail)
{
    return unsupported(fail);
}

void
store_free(struct store *store)
{
}

abx_status
trust_new(struct store *store, const char *extra_pem, struct trust **ret_trust, struct fail *fail)
{
    return unsupported(fail);
}

void
trust_free(struct trust *trust)
{
}

abx_status
bundle_make(const struct authority *authority, const char *host_pem, const char *extra_pem,
        struct trust_files *ret_files, struct fail *fail)
{
    return unsupported(fail);
}

struct tls *
tls_server(int fd, struct authority *authority, const char *name)
{
    return NULL;
}

struct tls *
tls_client(int fd, struct trust *trust, const char *name)
{
    return NULL;
}

void
tls_free(struct tls *tls)
{
}

int
tls_handshake(struct tls *tls)
{
    return TLS_FAILED;
}

ssize_t
tls_read(struct tls *tls, void *bytes, size_t room)
{
    return TLS_FAILED;
}

ssize_t
tls_write(struct tls *tls, const void *bytes, size_t length)
{
    return TLS_FAILED;
}

int
tls_shut(struct tls *tls)
{
    return TLS_FAILED;
}

bool
tls_wants_write(const struct tls *tls)
{
    return false;
}

const char *
tls_why(const struct tls *tls)
{
    return "this build has no TLS";
}
