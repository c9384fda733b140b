/* SPDX-License-Identifier: Apache-2.0
 * Lists what is the box's own: scratch directories, devices, processes, and the files that say how
 * names are looked up.  Only where the host has a directory or file to mount over. */
#include "plan/compile.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/network.h"

#include <stdlib.h>
#include <string.h>

#define HOSTS "127.0.0.1 localhost box\n::1 localhost ip6-localhost ip6-loopback\n"
#define HOSTS_WITH_PROXY HOSTS NETWORK_PROXY_ADDRESS " " NETWORK_PROXY_NAME "\n"
/* No search list and ndots 1: a search domain would turn every name into another one. */
#define RESOLV "nameserver " NETWORK_NAME_SERVER "\noptions ndots:1\n"
#define NSSWITCH                                                                                   \
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"              \
    "protocols: files\nservices: files\n"

abx_status
compile_private(struct compiler *compiler, const char *path, enum private_kind kind, bool writable,
        const char *content)
{
    struct private_place *own = vec_add(&compiler->plan->privates);

    if (own == NULL) {
        return fail_nomem(compiler->fail);
    }
    own->kind = kind;
    own->writable = writable;
    own->path = strdup(path);
    own->content = content == NULL ? NULL : strdup(content);
    if (own->path == NULL || (content != NULL && own->content == NULL)) {
        return fail_nomem(compiler->fail);
    }
    return ABX_OK;
}

bool
compile_is_own(const struct compiler *compiler, const char *path)
{
    for (size_t i = 0; i < compiler->plan->privates.count; i++) {
        const struct private_place *own =
                vec_at(&compiler->plan->privates, struct private_place, i);

        if (own->kind == PRIVATE_TMPFS && path_is_below(path, own->path)) {
            return true;
        }
    }
    return false;
}

/* A file of the box over the host's, or in the private directory that the host's link leads to. */
static abx_status
add_file(struct compiler *compiler, const char *path, const char *content)
{
    const struct host_view *host = compiler->host;
    AUTO(freep) char *real = host->real_path(host->data, path);
    enum host_kind kind;

    if (real == NULL) {
        return fail_nomem(compiler->fail);
    }
    if (compile_is_own(compiler, real)) {
        return compile_private(compiler, real, PRIVATE_FILE, false, content);
    }
    kind = host->look(host->data, real);
    if (kind != HOST_FILE) {
        return ABX_OK;
    }
    return compile_private(compiler, real, PRIVATE_FILE, false, content);
}

/* In the host's network its own file says how names are looked up; where that is in a directory
 * that the box has not, it gets a copy. */
static abx_status
add_host_file(struct compiler *compiler, const char *path)
{
    const struct host_view *host = compiler->host;
    AUTO(freep) char *real = host->real_path(host->data, path);
    AUTO(freep) char *content = NULL;

    if (real == NULL) {
        return fail_nomem(compiler->fail);
    }
    if (!compile_is_own(compiler, real) || host->read_text == NULL) {
        return ABX_OK;
    }
    content = host->read_text(host->data, real);
    return content == NULL ? ABX_OK : compile_private(compiler, real, PRIVATE_FILE, false, content);
}

/* What the policy allows to connect to, in directories where nothing of the host is seen: something
 * stands for it there, whether it exists yet or not. */
static abx_status
add_sockets(struct compiler *compiler)
{
    const struct host_view *host = compiler->host;
    struct vec paths = VEC(const char *);
    abx_status r = policy_sockets(compiler->policy, &paths, compiler->fail);

    for (size_t i = 0; i < paths.count && r >= 0; i++) {
        const char *path = *vec_at(&paths, const char *, i);
        AUTO(freep) char *real = path[0] == '@' ? NULL : host->real_path(host->data, path);

        if (path[0] != '@' && real == NULL) {
            r = fail_nomem(compiler->fail);
        } else if (real != NULL && compile_is_own(compiler, real) &&
                   !plan_is_host_socket(compiler->plan, real)) {
            r = compile_private(compiler, real, PRIVATE_SOCKET, false, NULL);
        }
    }
    vec_done(&paths);
    return r;
}

static int
compare_privates(const void *a, const void *b)
{
    return strcmp(((const struct private_place *)a)->path, ((const struct private_place *)b)->path);
}

abx_status
compile_privates(struct compiler *compiler)
{
    static const struct {
        const char *path;
        enum private_kind kind;
        const char
                *writable_as; /* where the policy's verdict on writing is looked up; NULL: never */
    } directories[] = {
        { "/dev", PRIVATE_DEV, NULL },
        { "/dev/shm", PRIVATE_TMPFS, "/tmp" }, /* shared memory is scratch, as /tmp is */
        { "/proc", PRIVATE_PROC, NULL },
        { "/run", PRIVATE_TMPFS, "/run" },
        { "/tmp", PRIVATE_TMPFS, "/tmp" },
    };
    const struct {
        const char *path, *content;
    } files[] = {
        { "/etc/hosts", plan_has_gateway(compiler->plan) ? HOSTS_WITH_PROXY : HOSTS },
        { "/etc/nsswitch.conf", NSSWITCH },
        { "/etc/resolv.conf", RESOLV },
    };
    struct plan *plan = compiler->plan;
    const struct host_view *host = compiler->host;
    abx_status r = ABX_OK;

    if (!plan_has_mounts(plan)) {
        return ABX_OK;
    }
    for (size_t i = 0; i < N_ELEMENTS(directories) && r >= 0; i++) {
        const char *as = directories[i].writable_as;
        struct ruling ruling;

        if (strcmp(directories[i].path, "/dev/shm") != 0 &&
                host->look(host->data, directories[i].path) != HOST_DIRECTORY) {
            continue;
        }
        r = compile_private(compiler, directories[i].path, directories[i].kind,
                as != NULL && compile_decide(compiler, as, ABX_ACCESS_WRITE, &ruling) ==
                                      ABX_VERDICT_ALLOW,
                NULL);
    }
    if (r >= 0 && compiler->settings->n_inputs > 0) {
        r = compile_private(compiler, INPUTS_ROOT, PRIVATE_TMPFS, false, NULL);
    }
    for (size_t i = 0; i < N_ELEMENTS(files) && r >= 0; i++) {
        r = plan->network == NETWORK_HOST ? add_host_file(compiler, files[i].path)
                                          : add_file(compiler, files[i].path, files[i].content);
    }
    r = r < 0 ? r : add_sockets(compiler);
    r = r < 0 ? r : compile_trust(compiler);
    if (r >= 0) {
        qsort(plan->privates.data, plan->privates.count, sizeof(struct private_place),
                compare_privates);
    }
    return r;
}
