/* SPDX-License-Identifier: Apache-2.0
 * The files that a box gets over those of the system are found by most programs by themselves.  The
 * variables are for those with a store of their own, and for all where the host replaces a file
 * while the box is open, which takes the mount over it away. */
#include "supervise/trust.h"

#include "egress/egress.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Who reads which: docs/agentbox-policy.md has the same list. */
static const char *const variables[] = {
    "SSL_CERT_FILE=" TRUST_BUNDLE,
    "CURL_CA_BUNDLE=" TRUST_BUNDLE,
    "GIT_SSL_CAINFO=" TRUST_BUNDLE,
    "REQUESTS_CA_BUNDLE=" TRUST_BUNDLE,
    "PIP_CERT=" TRUST_BUNDLE,
    "HTTPLIB2_CA_CERTS=" TRUST_BUNDLE,
    "NODE_EXTRA_CA_CERTS=" TRUST_BUNDLE,
    "DENO_CERT=" TRUST_BUNDLE,
    "CARGO_HTTP_CAINFO=" TRUST_BUNDLE,
    "AWS_CA_BUNDLE=" TRUST_BUNDLE,
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE=" TRUST_BUNDLE,
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=" TRUST_BUNDLE,
    "NIX_SSL_CERT_FILE=" TRUST_BUNDLE,
    "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=" TRUST_STORE,
};

abx_status
trust_make(abx_box *box, struct trust_files *ret_files, struct fail *fail)
{
    return plan_adds_trust(&box->plan)
                   ? egress_trust(box->egress, box->plan.bundle, ret_files, fail)
                   : ABX_OK;
}

void
trust_done(struct trust_files *files)
{
    free(files->bundle);
    free(files->store);
}

bool
trust_add_variables(const abx_box *box, struct vec *list)
{
    for (size_t i = 0; i < N_ELEMENTS(variables) && plan_adds_trust(&box->plan); i++) {
        char **entry = vec_add(list);

        if (entry == NULL || (*entry = strdup(variables[i])) == NULL) {
            return false;
        }
    }
    return true;
}
