/* SPDX-License-Identifier: Apache-2.0
 * Inside the writers of canonical JSON. */
#ifndef ABX_POLICY_EMIT_H
#define ABX_POLICY_EMIT_H

#include "policy/builder.h"

#include "base/str.h"

/* The comma before all but the first member or element. */
void emit_next(struct str *out);
void emit_key(struct str *out, const char *name);
/* A member, or nothing if there is no text. */
void emit_text(struct str *out, const char *name, const char *text);
/* What a yes needs, where that is more than one person. */
void emit_consent(struct str *out, struct consent consent);
/* A text that was made for this, and is freed; NULL: there was no memory for it. */
void emit_made(struct str *out, char *text);
/* Bytes that are not UTF-8 as `\xHH`. */
void emit_bytes(struct str *out, const char *bytes);
void emit_path(struct str *out, const char *path, bool is_literal);

/* emit_rules.c */
/* Which rules stand in a list of the document, and where that list is. */
struct rule_list {
    const char *name, *pointer;
    uint32_t kind, access;
    abx_verdict verdict;
    bool opens_private, is_loopback;
};
/* `present`: also if it is empty, since an empty section is an opinion. */
void emit_list(
        struct str *out, const struct layer *layer, const struct rule_list *list, bool present);
struct policy_identity;
void emit_identity(struct str *out, const struct policy_identity *identity);
void emit_credentials(struct str *out, const struct layer *layer);
/* All verdicts in one list. */
void emit_actions(struct str *out, const struct layer *layer);

#endif
