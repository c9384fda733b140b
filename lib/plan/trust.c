/* SPDX-License-Identifier: Apache-2.0
 * Where programs find whom to believe: the files of authorities of the systems that we know, and
 * the stores of Java.  The box's own lie over those that the host has, by the name that a link
 * leads to; and stand at a path of their own, for variables: what the host puts in place of a file
 * takes a mount over it away. */
#include "plan/compile.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define JAVA_MACHINES "/usr/lib/jvm"

static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine, Gentoo */
    "/etc/pki/tls/certs/ca-bundle.crt", /* Fedora, RHEL */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem", /* SUSE */
    "/etc/ssl/cert.pem", /* Alpine */
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/cacert.pem",
};

static const char *const java_stores[] = {
    "/etc/ssl/certs/java/cacerts", /* Debian */
    "/etc/pki/ca-trust/extracted/java/cacerts", /* Fedora, RHEL */
    "/etc/pki/java/cacerts", "/etc/ca-certificates/extracted/java-cacerts.jks", /* Arch */
    "/var/lib/ca-certificates/java-cacerts", /* SUSE */
};

/* Below the directory of a machine: since Java 9, and before. */
static const char *const in_machine[] = { "lib/security/cacerts", "jre/lib/security/cacerts" };

static bool
is_listed(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->privates.count; i++) {
        if (strcmp(vec_at(&plan->privates, struct private_place, i)->path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Over a file that the host has; the first bundle is what the box's is made from. */
static abx_status
cover(struct compiler *compiler, const char *path, enum private_kind kind)
{
    const struct host_view *host = compiler->host;
    struct plan *plan = compiler->plan;
    AUTO(freep) char *real = host->real_path(host->data, path);

    if (real == NULL) {
        return errno == ELOOP ? ABX_OK : fail_nomem(compiler->fail);
    }
    if (host->look(host->data, real) != HOST_FILE || is_listed(plan, real)) {
        return ABX_OK;
    }
    if (kind == PRIVATE_BUNDLE && plan->bundle == NULL) {
        plan->bundle = strdup(real);
        if (plan->bundle == NULL) {
            return fail_nomem(compiler->fail);
        }
    }
    return compile_is_own(compiler, real) ? ABX_OK
                                          : compile_private(compiler, real, kind, false, NULL);
}

static abx_status
cover_machine(struct compiler *compiler, const char *name)
{
    AUTO(freep) char *machine = path_join(JAVA_MACHINES, name);
    abx_status r = machine == NULL ? fail_nomem(compiler->fail) : ABX_OK;

    for (size_t i = 0; i < N_ELEMENTS(in_machine) && r >= 0; i++) {
        AUTO(freep) char *path = path_join(machine, in_machine[i]);

        r = path == NULL ? fail_nomem(compiler->fail) : cover(compiler, path, PRIVATE_TRUSTSTORE);
    }
    return r;
}

static abx_status
cover_machines(struct compiler *compiler)
{
    const struct host_view *host = compiler->host;
    struct vec names = VEC(char *);
    abx_status r = ABX_OK;

    if (host->look(host->data, JAVA_MACHINES) == HOST_DIRECTORY &&
            host->list(host->data, JAVA_MACHINES, &names) == -ENOMEM) {
        r = fail_nomem(compiler->fail);
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = *vec_at(&names, char *, i);

        r = r < 0 ? r : cover_machine(compiler, name);
        free(name);
    }
    vec_done(&names);
    return r;
}

abx_status
compile_trust(struct compiler *compiler)
{
    abx_status r = ABX_OK;

    if (policy_adds_trust(compiler->policy) == NULL ||
            compiler->plan->network != NETWORK_FILTERED ||
            !compile_is_own(compiler, TRUST_BUNDLE)) { /* compile_needs refuses */
        return ABX_OK;
    }
    for (size_t i = 0; i < N_ELEMENTS(bundles) && r >= 0; i++) {
        r = cover(compiler, bundles[i], PRIVATE_BUNDLE);
    }
    for (size_t i = 0; i < N_ELEMENTS(java_stores) && r >= 0; i++) {
        r = cover(compiler, java_stores[i], PRIVATE_TRUSTSTORE);
    }
    r = r < 0 ? r : cover_machines(compiler);
    r = r < 0 ? r : compile_private(compiler, TRUST_BUNDLE, PRIVATE_BUNDLE, false, NULL);
    return r < 0 ? r : compile_private(compiler, TRUST_STORE, PRIVATE_TRUSTSTORE, false, NULL);
}
