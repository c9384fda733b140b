/* SPDX-License-Identifier: Apache-2.0
 * Replaying logs that were made by hand: what a record tells of, what another policy says of it,
 * and what cannot be asked about. */
#include "audit/log.h"
#include "base/mem.h"
#include "failing_malloc.h"

#include "unit/main.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DEFINE_CLEANUP(abx_policy_unref, abx_policy)
DEFINE_CLEANUP(abx_report_unref, abx_report)

static const char document[] =
        "{\"version\":1,\"name\":\"now\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/usr\",\"/etc\"],\"deny\":[\"/etc/shadow\"]},"
        "\"write\":{\"allow\":[\"/tmp\"],\"ask\":[\"/tmp/asked\"]},"
        "\"exec\":{\"deny\":[\"/usr/bin/env\"]}},"
        "\"network\":{\"mode\":\"filtered\",\"allow\":[\"a.test\",{\"host\":\"api.test\",\"http\":["
        "{\"methods\":[\"GET\"],\"path\":\"/open/**\"},{\"methods\":[\"POST\"],\"path\":\"/act\","
        "\"action\":\"act\"},{\"methods\":[\"GET\",\"HEAD\"],\"path\":\"/of/"
        "{n}\",\"action\":\"act\"}]}],"
        "\"ask\":[\"ask.test\"],\"sockets\":[\"/run/one.sock\"]},"
        "\"actions\":[{\"name\":\"act\",\"verdict\":\"allow\",\"arguments\":{\"n\":{\"type\":"
        "\"integer\",\"maximum\":9}}},{\"name\":\"hire\",\"verdict\":\"ask\"}],"
        "\"credentials\":[{\"name\":\"key\",\"env\":\"KEY\",\"hosts\":[\"api.test\"]}]}";

static char folder[] = "/var/tmp/agentbox-replay-XXXXXX";
static char path[64];
static abx_policy *policy;

static void
set_up(void)
{
    abx_error *error = NULL;

    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    ck_assert_msg(abx_policy_from_json(document, sizeof document - 1, &policy, &error) == ABX_OK,
            "%s", abx_error_get_message(error));
}

static void
tear_down(void)
{
    DIR *stream = opendir(folder);
    const struct dirent *entry;

    while ((entry = readdir(stream)) != NULL) {
        unlinkat(dirfd(stream), entry->d_name, 0);
    }
    closedir(stream);
    ck_assert_int_eq(rmdir(folder), 0);
    abx_policy_unref(policy);
}

static void
write_log(const char *const *bodies, uint64_t most)
{
    const struct audit_options options = { .most = most };
    struct audit_log *log = NULL;
    struct fail fail = { 0 };

    ck_assert_msg(audit_open(path, &options, &log, &fail) == ABX_OK, "%s", fail.text);
    for (; *bodies != NULL; bodies++) {
        ck_assert_int_eq(audit_append(log, *bodies, &fail), ABX_OK);
    }
    audit_close(log);
}

static abx_report *
replay(int expected)
{
    const char *const paths[] = { path };
    abx_report *report = NULL;
    abx_error *error = NULL;
    abx_status outcome = abx_audit_replay(policy, paths, 1, &report, &error);

    ck_assert_msg(outcome == expected, "%d: %s", outcome,
            error == NULL ? "" : abx_error_get_message(error));
    return report;
}

static void
expect(abx_report *report, size_t row, const char *column, const char *text)
{
    ck_assert_msg(strcmp(abx_report_get_string(report, row, column), text) == 0,
            "%s is '%s', not '%s'", column, abx_report_get_string(report, row, column), text);
}

/* ---- one record, or two of one call ---- */
static const struct one {
    const char *name;
    const char *bodies[3];
    const char *change; /* of the first row; "same": nothing changes */
    const char *request, *target, *before, *rule; /* of a skipped one the request only */
} ones[] = {
    { "a denied write is allowed",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x\",\"verb\":\"open\",\"rule\":\"default\"}" },
            "allowed", "write", "/tmp/x", "deny", "task#/filesystem/write/allow/0" },
    { "a denied write is asked about",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "asked\"}" },
            "asked", "write", "/tmp/asked", "deny", "task#/filesystem/write/ask/0" },
    { "a denied read stays denied",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"read\",\"target\":\"/etc/"
              "shadow\"}" },
            "same", NULL, NULL, NULL, NULL },
    { "a name with bytes",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "\\\\xFFa\\\\\\\\b\"}" },
            "allowed", "write", "/tmp/\\xFFa\\b", "deny", NULL },
    { "what was observed is denied",
            { "{\"type\":\"notice\",\"request\":\"path\",\"access\":\"read\",\"target\":\"/srv/"
              "x\",\"reason\":\"would be denied: no rule\"}" },
            "denied", "read", "/srv/x", "allow", "task#default" },
    { "another notice is no call",
            { "{\"type\":\"notice\",\"request\":\"path\",\"access\":\"read\",\"target\":\"/srv/"
              "x\",\"reason\":\"a decoy was read\"}" },
            "same", NULL, NULL, NULL, NULL },
    { "a connection",
            { "{\"type\":\"denial\",\"request\":\"connect\",\"target\":\"a.test\",\"port\":443}" },
            "allowed", "connect", "a.test:443", "deny", NULL },
    { "a name that leads to a closed address",
            { "{\"type\":\"denial\",\"request\":\"connect\",\"target\":\"a.test\",\"asked\":\"10.0."
              "0.1\",\"port\":443}" },
            "same", NULL, NULL, NULL, NULL },
    { "a request",
            { "{\"type\":\"denial\",\"request\":\"http\",\"target\":\"https://api.test/open/"
              "1\",\"verb\":\"GET\"}" },
            "allowed", "GET", "https://api.test/open/1", "deny", NULL },
    { "a request whose arguments are in its body",
            { "{\"type\":\"denial\",\"request\":\"http\",\"target\":\"https://api.test/"
              "act\",\"verb\":\"POST\"}" },
            "skipped", "body", NULL, NULL, NULL },
    { "a request without a body whose arguments are in its path",
            { "{\"type\":\"denial\",\"request\":\"http\",\"target\":\"https://api.test/of/"
              "3\",\"verb\":\"GET\"}" },
            "allowed", "GET", "https://api.test/of/3", "deny", NULL },
    { "one whose arguments do not fit",
            { "{\"type\":\"denial\",\"request\":\"http\",\"target\":\"https://api.test/of/"
              "3?x=1\",\"verb\":\"HEAD\"}" },
            "same", NULL, NULL, NULL, NULL },
    { "an action that was a request",
            { "{\"type\":\"denial\",\"layer\":\"action\",\"request\":\"action\",\"target\":\"old\","
              "\"asked\":\"POST https://api.test/act\",\"verb\":\"{\\\"n\\\":3}\"}" },
            "allowed", "POST", "https://api.test/act {\"n\":3}", "deny", NULL },
    { "an action whose arguments do not fit",
            { "{\"type\":\"notice\",\"layer\":\"action\",\"request\":\"action\",\"target\":\"act\","
              "\"verb\":\"{\\\"n\\\":10}\"}" },
            "denied", "action", "act {\"n\":10}", "allow", "task#action:arguments" },
    { "what a server answered to an action is no call",
            { "{\"type\":\"notice\",\"layer\":\"action\",\"class\":\"validation\",\"request\":"
              "\"action\",\"target\":\"act\",\"asked\":\"POST https://api.test/act\",\"rule\":"
              "\"upstream:422\",\"source\":\"upstream\",\"http_status\":422}" },
            "same", NULL, NULL, NULL, NULL },
    { "what a proxy outside denied",
            { "{\"type\":\"denial\",\"layer\":\"identity\",\"class\":\"identity\",\"request\":"
              "\"connect\",\"target\":\"a.test\",\"port\":443,\"rule\":\"network:upstream\","
              "\"source\":\"upstream\",\"http_status\":407}" },
            "skipped", "boundary", NULL, NULL, NULL },
    { "an action that is now asked about",
            { "{\"type\":\"notice\",\"layer\":\"action\",\"request\":\"action\",\"target\":"
              "\"hire\"}" },
            "asked", "action", "hire {}", "allow", "task#/actions/1" },
    { "a question and its no are one call",
            { "{\"type\":\"approval\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x\",\"box\":1,\"command\":1}",
                    "{\"type\":\"denial\",\"layer\":\"approval\",\"request\":\"path\",\"access\":"
                    "\"write\",\"target\":\"/tmp/x\",\"box\":1,\"command\":1}" },
            "allowed", "write", "/tmp/x", "ask", NULL },
    { "a question and the action that followed",
            { "{\"type\":\"approval\",\"request\":\"action\",\"target\":\"hire\",\"verb\":\"{}\","
              "\"box\":1}",
                    "{\"type\":\"notice\",\"layer\":\"action\",\"request\":\"action\",\"target\":"
                    "\"hire\",\"verb\":\"{}\",\"box\":1}" },
            "same", NULL, NULL, NULL, NULL },
    { "a question nobody could be asked",
            { "{\"type\":\"denial\",\"layer\":\"approval\",\"request\":\"path\",\"access\":"
              "\"write\",\"target\":\"/tmp/x\"}" },
            "allowed", "write", "/tmp/x", "ask", NULL },
    { "a secret that was wanted",
            { "{\"type\":\"credential\",\"request\":\"credential\",\"target\":\"key\",\"verb\":"
              "\"other.test\"}" },
            "denied", "credential", "key other.test", "allow", NULL },
    { "a secret that was refused",
            { "{\"type\":\"credential\",\"request\":\"credential\",\"target\":\"key\",\"verb\":"
              "\"api.test\",\"box\":1}",
                    "{\"type\":\"denial\",\"layer\":\"identity\",\"request\":\"credential\","
                    "\"target\":\"key\",\"verb\":\"api.test\",\"box\":1}" },
            "same", NULL, NULL, NULL, NULL },
    { "a socket", { "{\"type\":\"denial\",\"request\":\"socket\",\"target\":\"/run/one.sock\"}" },
            "allowed", "socket", "/run/one.sock", "deny", NULL },
    { "a port inside the box",
            { "{\"type\":\"notice\",\"request\":\"listen\",\"port\":8080,\"rule\":\"boundary:"
              "listen\"}" },
            "same", NULL, NULL, NULL, NULL },
    { "a port that was the host's",
            { "{\"type\":\"denial\",\"request\":\"listen\",\"port\":8080,\"rule\":\"default\"}" },
            "allowed", "listen", "8080", "deny", "boundary#boundary:listen" },
    { "a program that started",
            { "{\"type\":\"spawn\",\"program\":\"/usr/bin/env\",\"box\":1,\"command\":1}",
                    "{\"type\":\"started\",\"box\":1,\"command\":1}" },
            "denied", "exec", "/usr/bin/env", "allow", "task#/filesystem/exec/deny/0" },
    { "one that did not",
            { "{\"type\":\"spawn\",\"program\":\"/usr/bin/env\",\"box\":1,\"command\":1}",
                    "{\"type\":\"started\",\"box\":1,\"command\":2}" },
            "same", NULL, NULL, NULL, NULL },
    { "one without a path",
            { "{\"type\":\"spawn\",\"program\":\"env\",\"box\":1,\"command\":1}",
                    "{\"type\":\"started\",\"box\":1,\"command\":1}" },
            "skipped", "program", NULL, NULL, NULL },
    { "a system call",
            { "{\"type\":\"denial\",\"request\":\"syscall\",\"target\":\"mount\",\"rule\":"
              "\"boundary:mount\"}" },
            "skipped", "boundary", NULL, NULL, NULL },
    { "what the boundary refuses",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x\",\"rule\":\"boundary:changed\",\"source\":\"boundary\"}" },
            "skipped", "boundary", NULL, NULL, NULL },
    { "what the boundary does not let through by itself",
            { "{\"type\":\"denial\",\"request\":\"connect\",\"target\":\"a.test\",\"port\":443,"
              "\"rule\":\"network:ech\",\"source\":\"boundary\"}" },
            "skipped", "boundary", NULL, NULL, NULL },
    { "an address that the policy did not open",
            { "{\"type\":\"denial\",\"request\":\"connect\",\"target\":\"a.test\",\"asked\":\"10.0."
              "0.1\",\"port\":443,\"rule\":\"network:closed\",\"source\":\"boundary\"}" },
            "same", NULL, NULL, NULL, NULL },
    { "a denial of a policy that is called 'boundary'",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x\",\"rule\":\"/filesystem/write/deny/0\",\"source\":\"boundary\"}" },
            "allowed", "write", "/tmp/x", "deny", NULL },
    { "a denial of a policy that is called 'upstream'",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x\",\"rule\":\"default\",\"source\":\"upstream\"}" },
            "allowed", "write", "/tmp/x", "deny", NULL },
    { "an action of a policy that is called 'upstream'",
            { "{\"type\":\"notice\",\"layer\":\"action\",\"request\":\"action\",\"target\":"
              "\"hire\",\"rule\":\"/actions/0\",\"source\":\"upstream\"}" },
            "asked", "action", "hire {}", "allow", NULL },
    { "a rule that is called like a grant",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x\",\"rule\":\"grant:nobody\"}" },
            "allowed", "write", "/tmp/x", "deny", NULL },
    { "a limit",
            { "{\"type\":\"denial\",\"layer\":\"limit\",\"request\":\"action\",\"target\":\"act\","
              "\"verb\":\"{\\\"n\\\":1}\"}" },
            "skipped", "limit", NULL, NULL, NULL },
    { "a delegation that had expired",
            { "{\"type\":\"denial\",\"layer\":\"identity\",\"request\":\"connect\",\"target\":\"a."
              "test\",\"port\":443,\"rule\":\"identity:delegation\"}" },
            "skipped", "identity", NULL, NULL, NULL },
    { "a grant that was taken back",
            { "{\"type\":\"denial\",\"layer\":\"approval\",\"request\":\"connect\",\"target\":\"a."
              "test\",\"port\":443,\"rule\":\"grant:revoked\"}" },
            "skipped", "grant", NULL, NULL, NULL },
    { "what could not be recorded",
            { "{\"type\":\"denial\",\"layer\":\"audit\",\"request\":\"path\",\"access\":\"write\","
              "\"target\":\"/tmp/x\"}" },
            "skipped", "audit", NULL, NULL, NULL },
    { "a text that was cut",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "x... (cut, of 5000 bytes)\"}" },
            "skipped", "unreadable", NULL, NULL, NULL },
    { "no path",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":"
              "\"tmp\"}" },
            "skipped", "unreadable", NULL, NULL, NULL },
    { "a request of another version",
            { "{\"type\":\"denial\",\"request\":\"telepathy\",\"target\":\"/tmp\"}" }, "skipped",
            "unreadable", NULL, NULL, NULL },
    { "a name with a zero byte",
            { "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
              "a\\\\x00b\"}" },
            "skipped", "unreadable", NULL, NULL, NULL },
    { "a record of the log itself", { "{\"type\":\"recovered\",\"bytes\":3}" }, "same", NULL, NULL,
            NULL, NULL },
};

START_TEST(each_record_is_what_it_tells_of)
{
    const struct one *one = &ones[_i];
    const bool is_change = one->before != NULL;
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    size_t row = is_change || strcmp(one->change, "same") == 0 ? 0 : 1;

    write_log(one->bodies, 0);
    report = replay(is_change ? ABX_REPLAY_CHANGED : ABX_REPLAY_SAME);
    ck_assert_msg(strcmp(abx_report_get_string(report, row, "change"), one->change) == 0, "%s: %s",
            one->name, abx_report_get_string(report, row, "change"));
    ck_assert_uint_eq(abx_report_get_count(report), is_change ? 2 : row + 1);
    if (one->request != NULL) {
        expect(report, row, "request", one->request);
    }
    if (is_change) {
        expect(report, row, "target", one->target);
        expect(report, row, "before", one->before);
        expect(report, row, "calls", "1");
    }
    if (one->rule != NULL) {
        expect(report, row, "rule", one->rule);
    }
}
END_TEST

/* ---- more of them ---- */
START_TEST(equal_calls_are_one_row_with_whose_they_were)
{
    static const char *const bodies[] = {
        "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
        "x\",\"repeats\":3,\"box\":1,\"command\":1,"
        "\"label\":\"build\",\"program\":\"/bin/"
        "a\",\"context\":\"0123456789abcdef\",\"principal\":\"ann\",\"agent_session\":\"s-1\","
        "\"delegation\":\"d-1\"}",
        "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
        "x\",\"box\":1,\"command\":2,"
        "\"program\":\"/bin/"
        "a\",\"context\":\"0123456789abcdef\",\"principal\":\"ann\",\"agent_session\":\"s-1\","
        "\"delegation\":\"d-1\"}",
        "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/y\"}",
        NULL,
    };
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    write_log(bodies, 0);
    report = replay(ABX_REPLAY_CHANGED);
    ck_assert_uint_eq(abx_report_get_count(report), 3);
    expect(report, 0, "calls", "4");
    expect(report, 0, "first", "1");
    expect(report, 0, "programs", "/bin/a");
    expect(report, 0, "commands", "01234567 box 1 command 1 build; 01234567 box 1 command 2");
    expect(report, 0, "identities", "ann by s-1 under d-1");
    expect(report, 1, "target", "/tmp/y");
    expect(report, 2, "change", "same");
    expect(report, 2, "calls", "0");
}
END_TEST

START_TEST(what_is_not_asked_about_is_counted_in_calls)
{
    static const char *const bodies[] = {
        "{\"type\":\"denial\",\"request\":\"syscall\",\"target\":\"mount\",\"repeats\":1000}",
        "{\"type\":\"denial\",\"request\":\"syscall\",\"target\":\"mount\"}",
        "{\"type\":\"denial\",\"request\":\"http\",\"target\":\"https://api.test/"
        "act\",\"verb\":\"POST\",\"repeats\":20}",
        "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"tmp\","
        "\"repeats\":3}",
        NULL,
    };
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    write_log(bodies, 0);
    report = replay(ABX_REPLAY_SAME);
    ck_assert_uint_eq(abx_report_get_count(report), 4);
    expect(report, 1, "request", "unreadable");
    expect(report, 1, "calls", "3");
    expect(report, 2, "request", "boundary");
    expect(report, 2, "calls", "1001");
    expect(report, 3, "request", "body");
    expect(report, 3, "calls", "20");
}
END_TEST

START_TEST(many_names_are_cut_and_that_is_said)
{
    char texts[200][128];
    const char *bodies[201] = { NULL };
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    const char *commands;

    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        snprintf(texts[i], sizeof texts[i],
                "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/"
                "x\","
                "\"box\":1,\"command\":%zu}",
                i + 1);
        bodies[i] = texts[i];
    }
    write_log(bodies, 0);
    report = replay(ABX_REPLAY_CHANGED);
    commands = abx_report_get_string(report, 0, "commands");
    expect(report, 0, "calls", "200");
    ck_assert_uint_lt(strlen(commands), 500);
    ck_assert_str_eq(commands + strlen(commands) - 5, "; ...");
}
END_TEST

static const char *const three[] = {
    "{\"type\":\"denial\",\"request\":\"path\",\"access\":\"write\",\"target\":\"/tmp/x\"}",
    "{\"type\":\"approval\",\"request\":\"connect\",\"target\":\"a.test\",\"port\":443,\"box\":2}",
    "{\"type\":\"notice\",\"layer\":\"action\",\"request\":\"action\",\"target\":\"act\",\"verb\":"
    "\"{"
    "\\\"n\\\":77}\"}",
    NULL,
};

START_TEST(the_name_of_a_log_is_all_its_files)
{
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    AUTO(abx_report_unrefp) abx_report *alone = NULL;
    char beside[96];
    const char *const twice[] = { path, path };

    for (int i = 0; i < 12; i++) {
        write_log(three, 500);
    }
    snprintf(beside, sizeof beside, "%s.000000000001-notahash", path);
    close(open(beside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    report = replay(ABX_REPLAY_CHANGED);
    expect(report, 0, "change", "denied");
    expect(report, 0, "calls", "12");
    expect(report, 1, "calls", "12");
    expect(report, 1, "first", "1");
    expect(report, 2, "calls", "12");
    ck_assert_int_eq(abx_audit_replay(policy, twice, 2, &alone, NULL), ABX_REPLAY_BROKEN);
}
END_TEST

static void
cut_or_change(off_t cut, const char *text)
{
    AUTO(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t end = lseek(fd, 0, SEEK_END);

    ck_assert_int_ge(fd, 0);
    if (text == NULL) {
        ck_assert_int_eq(ftruncate(fd, end - cut), 0);
    } else {
        ck_assert_int_eq(pwrite(fd, text, strlen(text), end - cut), (ssize_t)strlen(text));
    }
}

START_TEST(a_record_in_part_is_counted_and_the_others_are_replayed)
{
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    write_log(three, 0);
    cut_or_change(30, NULL);
    report = replay(ABX_REPLAY_CHANGED);
    ck_assert_uint_eq(abx_report_get_count(report), 4);
    expect(report, 3, "change", "skipped");
    expect(report, 3, "request", "torn");
}
END_TEST

START_TEST(where_a_log_breaks_is_said_and_the_rest_is_not_believed)
{
    AUTO(abx_report_unrefp) abx_report *report = NULL;

    write_log(three, 0);
    cut_or_change(120, "X");
    report = replay(ABX_REPLAY_BROKEN);
    ck_assert_uint_eq(abx_report_get_count(report), 4);
    expect(report, 3, "change", "broken");
    ck_assert_ptr_nonnull(strstr(abx_report_get_string(report, 3, "reason"), "file 1, line 3, "));
}
END_TEST

START_TEST(a_redacted_record_is_counted)
{
    AUTO(abx_report_unrefp) abx_report *report = NULL;
    AUTO(str_done) struct str out = { 0 };
    AUTO(closep) int fd = -1;
    static char text[8192];
    char *end;
    ssize_t n;

    write_log(three, 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    n = read(fd, text, sizeof text - 1);
    ck_assert_int_gt(n, 0);
    end = strchr(text, '\n');
    ck_assert(record_redact(text, (size_t)(end - text), &out));
    str_add(&out, end);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(pwrite(fd, out.data, out.length, 0), (ssize_t)out.length);
    report = replay(ABX_REPLAY_CHANGED);
    ck_assert_uint_eq(abx_report_get_count(report), 4);
    expect(report, 3, "request", "redacted");
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error)
{
    const char *const nowhere[] = { "/nonexistent/log" };
    abx_report *report = NULL;
    abx_error *error = NULL;

    ck_assert_int_eq(abx_audit_replay(policy, nowhere, 1, &report, &error), ABX_ERR_IO);
    ck_assert_str_eq(abx_error_get_step(error), "audit:open");
    abx_error_unref(error);
    ck_assert_int_eq(abx_audit_replay(policy, NULL, 1, &report, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_audit_replay(policy, nowhere, 0, &report, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_audit_replay(NULL, nowhere, 1, &report, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_audit_replay(policy, nowhere, 1, NULL, NULL), ABX_ERR_INVALID);
}
END_TEST

START_TEST(a_policy_that_no_box_could_have_is_an_error)
{
    static const char text[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},"
                               "\"write\":{\"allow\":[\"/nonexistent/place\"]}}}";
    const char *const paths[] = { path };
    AUTO(abx_policy_unrefp) abx_policy *other = NULL;
    abx_report *report = NULL;

    write_log(three, 0);
    ck_assert_int_eq(abx_policy_from_json(text, sizeof text - 1, &other, NULL), ABX_OK);
    ck_assert_int_eq(abx_audit_replay(other, paths, 1, &report, NULL), ABX_ERR_POLICY);
}
END_TEST

START_TEST(each_allocation_may_fail)
{
    const char *const paths[] = { path };
    bool failed = true;
    size_t n = 0;

    for (int i = 0; i < 3; i++) {
        write_log(three, 500);
    }
    while (failed) {
        const long before = malloc_alive();
        abx_report *report = NULL;
        abx_error *error = NULL;
        abx_status outcome;

        malloc_fail_at(++n);
        outcome = abx_audit_replay(policy, paths, 1, &report, &error);
        failed = malloc_has_failed();
        malloc_fail_at(0);
        ck_assert_msg(outcome == ABX_REPLAY_CHANGED || (failed && outcome == ABX_ERR_NOMEM),
                "allocation %zu: %d %s", n, outcome,
                error == NULL ? "" : abx_error_get_message(error));
        abx_report_unref(report);
        abx_error_unref(error);
        ck_assert_int_eq(malloc_alive(), before);
    }
    ck_assert_uint_gt(n, 100);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("replay");
    TCase *tcase = tcase_create("replay");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, each_record_is_what_it_tells_of, 0, N_ELEMENTS(ones));
    tcase_add_test(tcase, equal_calls_are_one_row_with_whose_they_were);
    tcase_add_test(tcase, what_is_not_asked_about_is_counted_in_calls);
    tcase_add_test(tcase, many_names_are_cut_and_that_is_said);
    tcase_add_test(tcase, the_name_of_a_log_is_all_its_files);
    tcase_add_test(tcase, a_record_in_part_is_counted_and_the_others_are_replayed);
    tcase_add_test(tcase, where_a_log_breaks_is_said_and_the_rest_is_not_believed);
    tcase_add_test(tcase, a_redacted_record_is_counted);
    tcase_add_test(tcase, what_cannot_be_read_is_an_error);
    tcase_add_test(tcase, a_policy_that_no_box_could_have_is_an_error);
    tcase_add_test(tcase, each_allocation_may_fail);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
