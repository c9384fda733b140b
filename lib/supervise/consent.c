/* SPDX-License-Identifier: Apache-2.0
 * Owns what a yes is: who must say it, with what, and what two of them allow together.  Pure, but
 * for memory. */
#include "supervise/approvals_private.h"

#include "base/digest.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void
consented_done(struct consented *consented)
{
    free(consented->approver);
    free(consented->evidence);
    *consented = (struct consented){ 0 };
}

abx_status
check_approver(const char *approver, const char *step, struct fail *fail)
{
    if (approver == NULL || (strlen(approver) <= APPROVER_MAX && text_is_seen(approver))) {
        return ABX_OK;
    }
    return fail_set(fail, ABX_ERR_INVALID, 0, step,
            "the approver's name is no UTF-8, longer than %u bytes, or has characters that are not "
            "seen",
            APPROVER_MAX);
}

static bool
is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static abx_status
does_not_count(struct fail *fail, const char *why, const char *remedy)
{
    fail_set(fail, ABX_ERR_DENIED, 0, "answer:consent", "%s", why);
    fail_remedy(fail, "%s", remedy);
    return ABX_ERR_DENIED;
}

/* Blanks that nobody sees make no other person. */
static bool
has_hidden_blanks(const char *name)
{
    return name[0] == ' ' || name[strlen(name) - 1] == ' ' || strstr(name, "  ") != NULL;
}

static abx_status
check(const struct approval *approval, const abx_answer *answer, struct fail *fail)
{
    if (approval->needs.step_up && !is_given(answer->evidence)) {
        return does_not_count(fail, "a yes to this question needs evidence",
                "let the approver prove who it is, and give what shows that");
    }
    if (approval->needs.approvers <= 1) {
        return ABX_OK;
    }
    if (!is_given(answer->approver) || strchr(answer->approver, ',') != NULL) {
        return does_not_count(fail, "two approvers must agree, each by a name without a comma",
                "give the approver's name");
    }
    if (has_hidden_blanks(answer->approver)) {
        return does_not_count(fail, "the approver's name has a blank at an end, or two in a row",
                "give the name without them");
    }
    if (approval->n_yes > 0 && strcasecmp(approval->yes.approver, answer->approver) == 0) {
        return does_not_count(fail, "this approver said yes before, and two different ones must",
                "let another approver answer");
    }
    return ABX_OK;
}

/* "before, text", or what there is of them; NULL: nothing.  False: no memory. */
static bool
join(const char *before, const char *text, char **ret_both)
{
    struct str both = { 0 };

    *ret_both = NULL;
    if (before == NULL && !is_given(text)) {
        return true;
    }
    str_add(&both, before == NULL ? "" : before);
    str_add(&both, before == NULL ? "" : ", ");
    str_add(&both, is_given(text) ? text : "-");
    *ret_both = str_steal(&both, NULL);
    return *ret_both != NULL;
}

/* What both scopes have. */
static void
narrow(struct consented *yes, const struct consented *before)
{
    yes->for_command |= before->for_command;
    if (before->expires_ms != 0 && (yes->expires_ms == 0 || before->expires_ms < yes->expires_ms)) {
        yes->expires_ms = before->expires_ms;
    }
    if (before->scope == ABX_SCOPE_ONCE || yes->scope == ABX_SCOPE_ONCE) {
        yes->scope = ABX_SCOPE_ONCE;
    } else if (yes->expires_ms != 0) {
        yes->scope = ABX_SCOPE_UNTIL;
    } else if (yes->for_command) {
        yes->scope = ABX_SCOPE_COMMAND;
    }
}

abx_status
consent_count(const struct approval *approval, const abx_answer *answer, struct consented *ret_yes,
        struct fail *fail)
{
    struct consented yes = {
        .scope = answer->scope,
        .expires_ms = answer->expires_ms,
        .for_command = answer->scope == ABX_SCOPE_COMMAND,
    };
    const struct consented *before = &approval->yes;
    char digest[DIGEST_HEX_SIZE] = "";
    abx_status r = check(approval, answer, fail);

    if (r < 0) {
        return r;
    }
    if (is_given(answer->evidence)) {
        digest_hex(answer->evidence, strlen(answer->evidence), digest);
    }
    if (!join(before->approver, answer->approver, &yes.approver) ||
            !join(before->evidence, digest, &yes.evidence)) {
        consented_done(&yes);
        return fail_nomem(fail);
    }
    if (approval->n_yes > 0) {
        narrow(&yes, before);
    }
    *ret_yes = yes;
    return approval->n_yes + 1 < approval->needs.approvers ? ABX_NONE : ABX_OK;
}
