/* SPDX-License-Identifier: Apache-2.0
 * Opens the egress for a box.  Programs need no proxy variables, since every connect arrives at the
 * egress; they are for those that insist on a proxy, or ask about names in no other way. */
#include "supervise/way_out.h"

#include "supervise/process.h"
#include "supervise/trust.h"

#include "egress/egress.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without "[::1]", as which Python's urllib would know it: httpx does not start with that. */
#define OWN_LOOPBACK "localhost,127.0.0.1,127.0.0.0/8,::1"

static abx_status
start_locked(abx_context *context, struct fail *fail)
{
    return context->egress != NULL ? ABX_OK : egress_new(&context->egress, fail);
}

/* The first of these variables of the host that says something, or NULL. */
static const char *
first_of(const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *value = secure_getenv(*names);

        if (value != NULL && value[0] != '\0') {
            return value;
        }
    }
    return NULL;
}

/* As curl reads them: small letters first. */
static struct egress_upstream
upstream_of_host(void)
{
    static const char *const plain[] = { "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY",
        NULL };
    static const char *const tunnel[] = { "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
        NULL };
    static const char *const exceptions[] = { "no_proxy", "NO_PROXY", NULL };

    return (struct egress_upstream){ first_of(plain), first_of(tunnel), first_of(exceptions) };
}

static struct egress_upstream
upstream_of_policy(const char *upstream)
{
    if (upstream == NULL || strcmp(upstream, "none") == 0) {
        return (struct egress_upstream){ NULL, NULL, NULL };
    }
    return strcmp(upstream, "environment") == 0
                   ? upstream_of_host()
                   : (struct egress_upstream){ upstream, upstream, NULL };
}

abx_status
way_out_open(abx_box *box, struct fail *fail)
{
    abx_context *context = box->context;
    struct egress_setup setup = {
        .policy = box->resolved,
        .broker = &box->broker,
        .backend = context->backend->name,
        .upstream = upstream_of_policy(policy_get_settings(box->resolved)->upstream),
        .identity = box->identity == NULL ? NULL : box->identity->field,
        .decoy_seed = box->decoy_seed,
    };
    abx_status r;

    if (box->plan.network != NETWORK_FILTERED) {
        return ABX_OK;
    }
    if (box->identity == NULL && policy_get_settings(box->resolved)->identity != NULL) {
        fail_set(fail, ABX_ERR_INVALID, 0, "open:identity",
                "the policy tells hosts on whose behalf a request is made, and the box has no "
                "identity");
        fail_remedy(fail, "open the box with an identity (abx_identity_new, or agentbox run "
                          "--principal), or take \"identity\" out of the policy");
        return ABX_ERR_INVALID;
    }
    pthread_mutex_lock(&context->starting);
    r = start_locked(context, fail);
    pthread_mutex_unlock(&context->starting);
    r = r < 0 ? r : egress_open(context->egress, &setup, &box->egress, fail);
    if (r < 0 && strstr(fail->step, ":extra-ca") != NULL) {
        fail_remedy(fail, "/network/extra_ca wants a file of the host with PEM certificates");
    }
    return r;
}

/* Takes `variable`; false without memory (also if it is NULL). */
static bool
put(struct vec *list, char *variable)
{
    char **entry = variable == NULL ? NULL : vec_add(list);

    if (entry == NULL) {
        free(variable);
        return false;
    }
    *entry = variable;
    return true;
}

static bool
put_proxy(abx_box *box, struct vec *list)
{
    static const char *const names[] = { "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
        "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy" };
    const char *proxy = box->context->backend->proxy(box->boundary);
    bool ok = true;

    for (size_t i = 0; ok && proxy != NULL && i < N_ELEMENTS(names); i++) {
        bool is_exception = strncasecmp(names[i], "no_", 3) == 0;
        char *variable;

        ok = asprintf(&variable, "%s=%s", names[i], is_exception ? OWN_LOOPBACK : proxy) >= 0 &&
             put(list, variable);
    }
    return ok;
}

static bool
put_stand_ins(abx_box *box, struct vec *list)
{
    const char *const *stand_ins = egress_environment(box->egress);
    bool ok = true;

    for (size_t i = 0; ok && stand_ins != NULL && stand_ins[i] != NULL; i++) {
        ok = put(list, strdup(stand_ins[i]));
    }
    return ok;
}

char **
way_out_environment(abx_box *box)
{
    struct vec list = VEC(char *);
    bool ok = box->egress == NULL || (put_proxy(box, &list) && trust_add_variables(box, &list) &&
                                             put_stand_ins(box, &list));

    if (ok && vec_add(&list) != NULL) { /* the NULL at the end */
        return list.data;
    }
    for (size_t i = 0; i < list.count; i++) {
        free(*vec_at(&list, char *, i));
    }
    vec_done(&list);
    return NULL;
}
