/* SPDX-License-Identifier: Apache-2.0
 * A program outside the tree: makes a policy and asks it something. */
#include <agentbox/agentbox.h>

#include <stdio.h>
#include <string.h>

int
main(void)
{
    static const char document[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/"
                                   "\"]},\"write\":{\"allow\":[\"/srv\"]}}}";
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_request request;
    abx_decision decision;

    if (abx_policy_from_json(document, strlen(document), &policy, &error) < 0) {
        fprintf(stderr, "%s\n", abx_error_get_message(error));
        return 1;
    }
    memset(&request, 0, sizeof request);
    request.size = sizeof request;
    request.kind = ABX_REQUEST_PATH;
    request.access = ABX_ACCESS_WRITE;
    request.target = "/srv/file";
    memset(&decision, 0, sizeof decision);
    decision.size = sizeof decision;
    if (abx_policy_evaluate(policy, &request, &decision) < 0 ||
            decision.verdict != ABX_VERDICT_ALLOW) {
        return 2;
    }
    abx_policy_unref(policy);
    printf("agentbox %s\n", abx_version_string());
    return 0;
}
