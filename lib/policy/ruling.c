/* SPDX-License-Identifier: Apache-2.0
 * Owns how a decision is told: the ruling that a rule, a default or a fixed answer gives, and the
 * texts about git directories.  Pure, any thread. */
#include "policy/ruling.h"

/* What rules about git directories say; the rule itself is only where they are. */
static const struct {
    const char *id, *reason, *alternative;
} git_texts[] = {
    [GIT_FREE] = { "", "", "" },
    [GIT_DIRECTORY] = { "protect:.git",
            "git would take this for its directory, or go where it leads",
            "let git make it: 'git init', 'git worktree add', 'git submodule add'" },
    [GIT_PLACE] = { "protect:.git", "this directory of git may not be moved, linked or replaced",
            "let git make what it needs in the directory that is there" },
    [GIT_HOOK] = { "protect:.git/hooks", "git runs what stands in its hooks directory",
            "keep the script elsewhere in the workspace and let the user install it" },
    [GIT_CONFIG] = { "protect:.git/config", "git's configuration can run programs",
            "set plain keys with 'git config'; others the user sets outside the box" },
    [GIT_ATTRIBUTES] = { "protect:.git/info/attributes", "git attributes can run filter programs",
            "use a .gitattributes file in the workspace" },
    [GIT_LINK] = { "protect:.git", "this file sends git to another directory",
            "let the user change it outside the box" },
    [GIT_COPY] = { "protect:.git", "what was judged waits here to take a name of git's",
            "use another name" },
};

bool
verdict_is_stricter(abx_verdict a, abx_verdict b)
{
    static const int strictness[] = {
        [ABX_VERDICT_DENY] = 2, [ABX_VERDICT_ASK] = 1, [ABX_VERDICT_ALLOW] = 0
    };

    return strictness[a] > strictness[b];
}

struct consent
consent_join(struct consent a, struct consent b)
{
    return (struct consent){ .approvers = a.approvers > b.approvers ? a.approvers : b.approvers,
        .step_up = a.step_up || b.step_up };
}

void
rule_by_pick(const struct layer *layer, const struct pick *pick, struct ruling *ruling)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, pick->rule);

    ruling->verdict = rule->verdict;
    ruling->rule = pick->rule;
    ruling->from_default = false;
    ruling->consent = rule->consent;
    if (pick->git != GIT_FREE) {
        ruling->id = git_texts[pick->git].id;
        ruling->reason = git_texts[pick->git].reason;
        ruling->alternative = git_texts[pick->git].alternative;
        ruling->by_content = git_file_is_by_content(pick->git);
        return;
    }
    ruling->id = rule->id;
    ruling->reason = rule->because;
    ruling->alternative = rule->alternative != NULL ? rule->alternative : "";
    ruling->by_content = rule->by_content;
}

void
rule_by_default(
        const struct layer *layer, enum slot slot, abx_verdict verdict, struct ruling *ruling)
{
    const struct index *index = layer->index;

    ruling->verdict = verdict;
    ruling->rule = NO_RULE;
    ruling->id = "default";
    ruling->reason = verdict == ABX_VERDICT_ALLOW ? "no rule speaks against it"
                                                  : index->default_reason[slot];
    ruling->alternative = verdict == ABX_VERDICT_ALLOW ? "" : index->default_alternative[slot];
    ruling->from_default = true;
    ruling->by_content = false;
    ruling->consent = (struct consent){ 0 };
}

void
rule_by_nature(abx_verdict verdict, const char *id, const char *reason, const char *alternative,
        struct ruling *ruling)
{
    ruling->verdict = verdict;
    ruling->rule = NO_RULE;
    ruling->id = id;
    ruling->reason = reason;
    ruling->alternative = alternative;
    ruling->from_default = true;
    ruling->by_content = false;
    ruling->consent = (struct consent){ 0 };
}

bool
layer_has_opinion(const struct layer *layer, bool is_innermost, enum slot slot)
{
    switch (slot) {
    case SLOT_READ:
        return is_innermost || layer->has_read;
    case SLOT_WRITE:
        return is_innermost || layer->has_write;
    case SLOT_EXEC:
        return is_innermost || layer->has_exec;
    case SLOT_SOCKET:
        return is_innermost || layer->has_sockets;
    case SLOT_CONNECT:
        return is_innermost || layer->has_network;
    case SLOT_LISTEN:
        return is_innermost || layer->has_listen;
    case SLOT_ACTION:
        break;
    }
    return is_innermost || layer->has_actions;
}
