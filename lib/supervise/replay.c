/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of what was said of recorded calls and what a policy says of them now, and
 * its rows.  Pure but for the host's links.  One thread. */
#include "supervise/replay.h"

#include "audit/files.h"
#include "audit/render.h"
#include "base/mem.h"
#include "event/names.h"
#include "supervise/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHO_BYTES 400u /* of the names in one column of a row; about */

struct names {
    struct str text;
    bool has_more; /* than are in the text */
};

/* Calls that are one row. */
struct replay_group {
    abx_verdict before, after;
    char *request, *target, *rule, *reason;
    uint64_t calls, first; /* the number of the first record */
    struct names programs, commands, identities;
};

static void
group_done(struct replay_group *group)
{
    free(group->request);
    free(group->target);
    free(group->rule);
    free(group->reason);
    str_done(&group->programs.text);
    str_done(&group->commands.text);
    str_done(&group->identities.text);
}

abx_status
replay_init(
        struct replay *replay, abx_policy *policy, const struct host_view *host, struct fail *fail)
{
    *replay = (struct replay){ .host = host, .groups = VEC(struct replay_group) };
    recorded_init(&replay->state);
    intern_init(&replay->keys);
    return policy_resolve(policy, host, &replay->policy, fail);
}

void
replay_done(struct replay *replay)
{
    for (size_t i = 0; i < replay->groups.count; i++) {
        group_done(vec_at(&replay->groups, struct replay_group, i));
    }
    vec_done(&replay->groups);
    intern_done(&replay->keys);
    recorded_done(&replay->state);
    abx_policy_unref(replay->policy);
}

/* ---- deciding ---- */

/* As a box would, but for what is not in the log: counts, grants, the content of files. */
struct decided {
    struct ruling ruling;
    struct fail fail; /* the reason of some rulings */
    bool is_gap; /* arguments are wanted that are not in the log */
};

static void
deny_arguments(struct decided *decided)
{
    decided->ruling.verdict = ABX_VERDICT_DENY;
    decided->ruling.id = "action:arguments";
    decided->ruling.reason = decided->fail.text;
}

/* False: no memory. */
static bool
decide_input(struct replay *replay, const char *action, const struct action_input *input,
        struct decided *decided)
{
    struct action_form form = { NULL };
    abx_status r = policy_action_read(replay->policy, action, input, &form, &decided->fail);

    free(form.arguments);
    if (r < 0) {
        deny_arguments(decided);
    }
    return r != ABX_ERR_NOMEM;
}

static bool
decide_arguments(
        struct replay *replay, const char *action, const char *arguments, struct decided *decided)
{
    const struct action_input input = { .json = arguments, .json_length = strlen(arguments) };

    return decide_input(replay, action, &input, decided);
}

/* What its path and query say is all there is of a request without a body. */
static bool
decide_url(struct replay *replay, const struct http_action *action, struct decided *decided)
{
    const struct action_input input = { .texts = action->texts.data,
        .n_texts = action->texts.count };

    return decide_input(replay, action->name, &input, decided);
}

/* A request may count as an action, whose arguments are in the log if it did before. */
static bool
decide_http(struct replay *replay, const struct recorded_call *call, struct decided *decided)
{
    struct http_action action;
    const char *method = call->verb == NULL ? "GET" : call->verb;
    abx_status r =
            policy_http_action(replay->policy, call->target, method, &action, &decided->fail);
    bool ok = r != ABX_ERR_NOMEM;

    if (r < 0) {
        deny_arguments(decided);
        return ok;
    }
    if (action.name != NULL && policy_action_has_arguments(replay->policy, action.name)) {
        decided->is_gap = call->arguments == NULL && http_method_has_body(method);
        ok = decided->is_gap ? true
             : call->arguments != NULL
                     ? decide_arguments(replay, action.name, call->arguments, decided)
                     : decide_url(replay, &action, decided);
    }
    http_action_done(&action);
    return ok;
}

static bool
is_real_path(struct replay *replay, struct recorded_call *call)
{
    char *real = replay->host->real_path(replay->host->data, call->target);

    if (real != NULL) {
        free(call->target);
        call->request.target = call->target = real;
    }
    return real != NULL;
}

/* A port inside the box is nobody else's, whatever the policy says. */
static void
decide_listen(struct ruling *ruling)
{
    ruling->verdict = ABX_VERDICT_ALLOW;
    ruling->id = "boundary:listen";
    ruling->source = "boundary";
    ruling->reason = "the box has a network of its own";
}

/* False: no memory. */
static bool
decide(struct replay *replay, struct recorded_call *call, struct decided *decided)
{
    struct ruling *ruling = &decided->ruling;

    if (call->is_spelled && !is_real_path(replay, call)) {
        return false;
    }
    policy_decide(replay->policy, &call->request, ruling);
    switch (call->request.kind) {
    case ABX_REQUEST_LISTEN:
        if (policy_get_settings(replay->policy)->network != NETWORK_HOST) {
            decide_listen(ruling);
        }
        return true;
    case ABX_REQUEST_CONNECT:
        if (ruling->verdict != ABX_VERDICT_DENY && call->address != NULL) {
            struct ruling of_address;

            policy_decide_address(
                    replay->policy, call->target, call->address, call->request.port, &of_address);
            *ruling = of_address.verdict == ABX_VERDICT_ALLOW ? *ruling : of_address;
        }
        return true;
    case ABX_REQUEST_ACTION:
        return ruling->verdict == ABX_VERDICT_DENY ||
               decide_arguments(replay, call->target, call->arguments, decided);
    case ABX_REQUEST_HTTP:
        return ruling->verdict == ABX_VERDICT_DENY || decide_http(replay, call, decided);
    default:
        return true;
    }
}

/* ---- grouping ---- */

static const char *
request_word(const struct recorded_call *call)
{
    switch (call->request.kind) {
    case ABX_REQUEST_PATH:
        return name_of_access(call->request.access);
    case ABX_REQUEST_HTTP:
        return call->verb == NULL ? "GET" : call->verb;
    default:
        return name_of_request(call->request.kind);
    }
}

/* What is asked about, as `agentbox explain` takes it where it can. */
static void
add_target(const struct recorded_call *call, struct str *out)
{
    if (call->request.kind == ABX_REQUEST_LISTEN) {
        str_printf(out, "%" PRIu32, call->request.port);
        return;
    }
    str_add(out, call->target);
    if (call->request.kind == ABX_REQUEST_CONNECT) {
        str_printf(out, ":%" PRIu32, call->request.port == 0 ? 443 : call->request.port);
    } else if (call->request.kind == ABX_REQUEST_CREDENTIAL && call->verb != NULL) {
        str_printf(out, " %s", call->verb);
    } else if (call->arguments != NULL) {
        str_printf(out, " %s", call->arguments);
    }
}

/* Each name once; where there are too many, that is said. */
static void
add_name(struct names *names, const char *name)
{
    struct str *text = &names->text;
    const size_t length = strlen(name);

    for (const char *at = text->data; at != NULL && *at != '\0'; at += strspn(at, "; ")) {
        const size_t other = strcspn(at, ";");

        if (other == length && strncmp(at, name, length) == 0) {
            return;
        }
        at += other;
    }
    if (length == 0 || names->has_more) {
        return;
    }
    if (text->length + length > WHO_BYTES) {
        names->has_more = true;
        str_add(text, text->length == 0 ? "..." : "; ...");
        return;
    }
    str_add(text, text->length == 0 ? "" : "; ");
    str_add(text, name);
}

static void
add_number(struct str *out, const char *before, const struct json *body, const char *key)
{
    int64_t number;

    if (body_integer(body, key, &number)) {
        str_printf(out, "%s%" PRId64, before, number);
    }
}

static void
add_word(struct str *out, const char *before, const char *word)
{
    str_add(out, word[0] == '\0' ? "" : before);
    str_add(out, word);
}

/* False: no memory. */
static bool
add_who(struct replay_group *group, const struct json *body)
{
    AUTO(str_done) struct str command = { 0 };
    AUTO(str_done) struct str identity = { 0 };

    str_printf(&command, "%.8s", body_text(body, "context"));
    add_number(&command, command.length == 0 ? "box " : " box ", body, "box");
    add_number(&command, " command ", body, "command");
    add_word(&command, " ", body_text(body, "label"));
    add_word(&identity, "", body_text(body, "principal"));
    add_word(&identity, " by ", body_text(body, "agent_session"));
    add_word(&identity, " under ", body_text(body, "delegation"));
    if (command.failed || identity.failed) {
        return false;
    }
    add_name(&group->programs, body_text(body, "program"));
    add_name(&group->commands, command.data == NULL ? "" : command.data);
    add_name(&group->identities, identity.data == NULL ? "" : identity.data);
    return !group->programs.text.failed && !group->commands.text.failed &&
           !group->identities.text.failed;
}

/* A new group; NULL: no memory. */
static struct replay_group *
add_group(struct replay *replay, const struct recorded_call *call, const struct ruling *ruling,
        const char *target, uint64_t record)
{
    struct replay_group *group = vec_add(&replay->groups);
    AUTO(str_done) struct str rule = { 0 };

    if (group == NULL) {
        return NULL;
    }
    str_printf(&rule, "%s#%s", ruling->source, ruling->id);
    *group = (struct replay_group){
        .before = call->before,
        .after = ruling->verdict,
        .request = strdup(request_word(call)),
        .target = strdup(target),
        .rule = str_steal(&rule, NULL),
        .reason = strdup(ruling->reason),
        .first = record,
    };
    return group->request == NULL || group->target == NULL || group->rule == NULL ||
                           group->reason == NULL
                   ? NULL
                   : group;
}

static struct replay_group *
group_of(struct replay *replay, const struct recorded_call *call, const struct ruling *ruling,
        uint64_t record)
{
    AUTO(str_done) struct str target = { 0 };
    AUTO(str_done) struct str key = { 0 };
    uint32_t number;

    add_target(call, &target);
    str_printf(&key, "%u %u %s %s %s %s", (unsigned)call->before, (unsigned)ruling->verdict,
            request_word(call), ruling->source, ruling->id, target.data == NULL ? "" : target.data);
    number = key.failed || target.failed ? INTERN_NONE
                                         : intern_put(&replay->keys, key.data, key.length);
    if (number == INTERN_NONE) {
        return NULL;
    }
    return number < replay->groups.count ? vec_at(&replay->groups, struct replay_group, number)
                                         : add_group(replay, call, ruling,
                                                   target.data == NULL ? "" : target.data, record);
}

/* How many calls a record is of; one that says nothing is of one. */
static uint64_t
times_of(const struct json *body)
{
    int64_t repeats;

    return body_integer(body, "repeats", &repeats) && repeats > 0 ? (uint64_t)repeats : 1;
}

/* False: no memory. */
static bool
take_call(
        struct replay *replay, struct recorded_call *call, const struct json *body, uint64_t record)
{
    struct decided decided = { 0 };
    struct replay_group *group;

    if (!policy_request_is_valid(&call->request)) {
        replay->gaps[GAP_UNREADABLE] += times_of(body);
        return true;
    }
    if (!decide(replay, call, &decided)) {
        return false;
    }
    if (decided.is_gap) {
        replay->gaps[GAP_BODY] += times_of(body);
        return true;
    }
    if (decided.ruling.verdict == call->before) {
        replay->same += times_of(body);
        return true;
    }
    group = group_of(replay, call, &decided.ruling, record);
    if (group == NULL) {
        return false;
    }
    group->calls += times_of(body);
    return add_who(group, body);
}

bool
replay_record(void *data, const struct record *record)
{
    struct replay *replay = data;
    struct json_problem problem = { 0 };
    struct json *body = record->body == NULL ? NULL
                                             : json_read(record->body, record->body_length,
                                                       JSON_NESTING_MAX, &problem);
    struct recorded_call call = { 0 };
    enum recorded_gap gap = GAPS;
    enum recorded found = problem.no_memory
                                  ? RECORDED_NOMEM
                                  : recorded_take(&replay->state, record, body, &call, &gap);
    bool ok = found != RECORDED_NOMEM;

    if (found == RECORDED_GAP) {
        replay->gaps[gap] += times_of(body);
    } else if (found == RECORDED_CALL) {
        ok = take_call(replay, &call, body, record->n);
    }
    recorded_call_done(&call);
    json_free(body);
    return ok;
}

/* ---- rows ---- */
static const char *const columns[] = { "change", "request", "target", "before", "after", "rule",
    "reason", "calls", "first", "programs", "commands", "identities" };

enum { COLUMN_CHANGE = 0, COLUMN_REQUEST = 1, COLUMN_REASON = 6, COLUMN_CALLS = 7 };

static const struct {
    const char *word, *reason;
} gap_texts[GAPS] = {
    [GAP_REDACTED] = { "redacted", "the record was redacted" },
    [GAP_UNREADABLE] = { "unreadable", "the record was cut, or is of another version" },
    [GAP_BOUNDARY] = { "boundary", "the boundary refuses it whatever a policy says" },
    [GAP_LIMIT] = { "limit", "a limit had been reached, and what is counted is not replayed" },
    [GAP_IDENTITY] = { "identity", "the delegation had expired" },
    [GAP_GRANT] = { "grant", "the host took a grant back" },
    [GAP_AUDIT] = { "audit", "it could not be recorded then, so it was refused" },
    [GAP_BODY] = { "body", "the arguments are in a body, which the log does not have" },
    [GAP_PROGRAM] = { "program", "the program was asked for by a name without a path" },
    [GAP_TORN] = { "torn", "the last record was written in part" },
};

/* From the strictest. */
static const struct {
    abx_verdict after;
    const char *word;
} changes[] = {
    { ABX_VERDICT_DENY, "denied" },
    { ABX_VERDICT_ASK, "asked" },
    { ABX_VERDICT_ALLOW, "allowed" },
};

static const char *
text_of(const struct names *names)
{
    return names->text.data == NULL ? "" : names->text.data;
}

static bool
add_group_row(abx_report *report, const struct replay_group *group, const char *change)
{
    char calls[24], first[24];
    const char *texts[] = { change, group->request, group->target, verdict_words[group->before],
        verdict_words[group->after], group->rule, group->reason, calls, first,
        text_of(&group->programs), text_of(&group->commands), text_of(&group->identities) };

    snprintf(calls, sizeof calls, "%" PRIu64, group->calls);
    snprintf(first, sizeof first, "%" PRIu64, group->first);
    return report_add(report, texts);
}

/* A row that only counts. */
static bool
add_count_row(abx_report *report, const char *change, const char *request, const char *reason,
        uint64_t calls)
{
    char number[24];
    const char *texts[N_ELEMENTS(columns)];

    for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
        texts[i] = "";
    }
    snprintf(number, sizeof number, "%" PRIu64, calls);
    texts[COLUMN_CHANGE] = change;
    texts[COLUMN_REQUEST] = request;
    texts[COLUMN_REASON] = reason;
    texts[COLUMN_CALLS] = number;
    return report_add(report, texts);
}

abx_report *
replay_report(struct replay *replay, const char *problem)
{
    AUTO(report_unrefp) abx_report *report = report_new(columns, N_ELEMENTS(columns));
    bool ok = report != NULL;

    for (size_t k = 0; k < N_ELEMENTS(changes); k++) {
        for (size_t i = 0; ok && i < replay->groups.count; i++) {
            const struct replay_group *group = vec_at(&replay->groups, struct replay_group, i);

            ok = group->after != changes[k].after || add_group_row(report, group, changes[k].word);
        }
    }
    ok = ok && add_count_row(report, "same", "", "", replay->same);
    for (size_t i = 0; ok && i < GAPS; i++) {
        ok = replay->gaps[i] == 0 || add_count_row(report, "skipped", gap_texts[i].word,
                                             gap_texts[i].reason, replay->gaps[i]);
    }
    ok = ok && (problem[0] == '\0' || add_count_row(report, "broken", "", problem, 1));
    return ok ? steal_ptr(&report) : NULL;
}

/* ---- a log ---- */

/* A log of which one file is named is all its files. */
static abx_status
read_files(const char *const *paths, size_t count, struct replay *replay, struct audit_file *file,
        char problem[256], struct fail *fail)
{
    const struct audit_visitor visitor = { replay_record, replay };
    struct vec files = { 0 };
    abx_status r;

    if (count > 1) {
        return audit_visit(paths, count, &visitor, file, problem, fail);
    }
    r = files_list(paths[0], &files, fail);
    if (r == ABX_OK) {
        r = audit_visit(files.data, files.count, &visitor, file, problem, fail);
    }
    files_done(&files);
    return r;
}

abx_status
replay_log(abx_policy *policy, const struct host_view *host, const char *const *paths, size_t count,
        abx_report **ret_report, struct fail *fail)
{
    struct audit_file file = { .state = ABX_AUDIT_WHOLE };
    bool is_broken;
    struct replay replay;
    char problem[256];
    abx_status r = replay_init(&replay, policy, host, fail);

    r = r == ABX_OK ? read_files(paths, count, &replay, &file, problem, fail) : r;
    if (r == ABX_OK) {
        is_broken = file.state == ABX_AUDIT_BROKEN;
        replay.gaps[GAP_TORN] += file.state == ABX_AUDIT_TORN;
        *ret_report = replay_report(&replay, is_broken ? problem : "");
        r = *ret_report == NULL       ? fail_nomem(fail)
            : is_broken               ? (abx_status)ABX_REPLAY_BROKEN
            : replay.groups.count > 0 ? (abx_status)ABX_REPLAY_CHANGED
                                      : (abx_status)ABX_REPLAY_SAME;
    }
    replay_done(&replay);
    return r;
}
