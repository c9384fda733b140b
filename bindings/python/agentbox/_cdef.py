# SPDX-License-Identifier: Apache-2.0
# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
"""The C interface as cffi reads it, and what the header says of each function."""

CDEF = """\
typedef int32_t abx_status;
typedef uint32_t abx_verdict;
typedef struct abx_error abx_error;
typedef struct abx_context abx_context;
typedef struct abx_policy_builder abx_policy_builder;
typedef struct abx_policy abx_policy;
typedef struct abx_identity abx_identity;
typedef struct abx_box abx_box;
typedef struct abx_process abx_process;
typedef struct abx_event abx_event;
typedef struct abx_report abx_report;
typedef struct {
    uint32_t size;
    uint32_t backend;
    uint32_t log_level;
    uint32_t events;
    const char *audit_path;
    const char *init_path;
    uint64_t audit_bytes;
    uint32_t audit_sync;
    uint32_t flags;
} abx_context_options;
typedef struct {
    uint32_t size;
    uint32_t reserved;
    uint64_t boxes;
    uint64_t commands;
    uint64_t denials;
    uint64_t repeats;
    uint64_t asked;
    uint64_t granted;
    uint64_t refused;
    uint64_t timed_out;
    uint64_t abandoned;
    uint64_t held_ns;
} abx_stats;
typedef struct {
    uint32_t size;
    uint32_t kind;
    uint32_t access;
    uint32_t port;
    const char *target;
    const char *verb;
} abx_request;
typedef struct {
    uint32_t size;
    abx_verdict verdict;
    uint32_t rule;
    uint32_t layer;
} abx_decision;
typedef struct {
    uint32_t size;
    uint32_t flags;
    uint32_t stdio[3];
    uint32_t rows;
    uint32_t columns;
    uint32_t reserved;
    int64_t handle[3];
    uint64_t timeout_ms;
    const char *cwd;
    const char *label;
    const char *const *env;
} abx_spawn_options;
typedef struct {
    uint32_t size;
    uint32_t reason;
    int32_t code;
    uint32_t denials;
    uint64_t cpu_us;
    uint64_t peak_memory;
} abx_exit;
typedef struct {
    uint32_t size;
    abx_verdict verdict;
    uint32_t scope;
    uint32_t reserved;
    int64_t expires_ms;
    const char *approver;
    const char *evidence;
    const char *message;
} abx_answer;
typedef void (*abx_event_fn)(void *user_data, abx_event *event);
uint32_t abx_version(void);
const char *abx_version_string(void);
int32_t abx_feature_supported(uint32_t which, int64_t value);
const char *abx_status_name(abx_status status);
abx_status abx_error_get_status(abx_error *error);
int32_t abx_error_get_os_code(abx_error *error);
const char *abx_error_get_step(abx_error *error);
const char *abx_error_get_message(abx_error *error);
const char *abx_error_get_remedy(abx_error *error);
abx_error *abx_error_ref(abx_error *error);
void abx_error_unref(abx_error *error);
void abx_free(void *buffer);
abx_status abx_context_new(const abx_context_options *options, abx_context **ret_context, abx_error **reterr);
abx_context *abx_context_ref(abx_context *context);
void abx_context_unref(abx_context *context);
abx_status abx_context_stats(abx_context *context, abx_stats *stats);
abx_status abx_policy_builder_new(const char *profile, abx_policy_builder **ret_builder, abx_error **reterr);
abx_policy_builder *abx_policy_builder_ref(abx_policy_builder *builder);
void abx_policy_builder_unref(abx_policy_builder *builder);
abx_status abx_policy_builder_variable(abx_policy_builder *builder, const char *name, const char *value);
abx_status abx_policy_builder_path(abx_policy_builder *builder, const char *pattern, uint32_t access, abx_verdict verdict);
abx_status abx_policy_builder_host(abx_policy_builder *builder, const char *host, uint16_t port_first, uint16_t port_last, abx_verdict verdict);
abx_status abx_policy_builder_env(abx_policy_builder *builder, const char *name, const char *value);
abx_status abx_policy_builder_limit(abx_policy_builder *builder, uint32_t limit, uint64_t value);
abx_status abx_policy_builder_explain(abx_policy_builder *builder, const char *reason, const char *alternative);
abx_status abx_policy_builder_weaken(abx_policy_builder *builder, uint32_t what, const char *reason);
abx_status abx_policy_builder_source(abx_policy_builder *builder, const char *source);
abx_status abx_policy_builder_merge_json(abx_policy_builder *builder, const char *json, size_t length);
abx_status abx_policy_builder_build(abx_policy_builder *builder, abx_policy **ret_policy, abx_error **reterr);
abx_status abx_policy_from_json(const char *json, size_t length, abx_policy **ret_policy, abx_error **reterr);
abx_status abx_policy_to_json(abx_policy *policy, char **ret_json, size_t *ret_length);
abx_status abx_policy_intersect(abx_policy *ceiling, abx_policy *policy, abx_policy **ret_policy, abx_error **reterr);
abx_status abx_policy_compare(abx_policy *before, abx_policy *after, abx_report **ret_report, abx_error **reterr);
abx_status abx_policy_describe(abx_policy *policy, const char *format, char **ret_text, size_t *ret_length);
const char *abx_policy_get_digest(abx_policy *policy);
abx_policy *abx_policy_ref(abx_policy *policy);
void abx_policy_unref(abx_policy *policy);
abx_status abx_policy_evaluate(abx_policy *policy, const abx_request *request, abx_decision *decision);
abx_status abx_policy_explain(abx_policy *policy, const abx_request *request, char **ret_json, size_t *ret_length);
abx_status abx_identity_new(const char *principal, const char *agent_session, const char *delegation, int64_t delegation_expires_ms, abx_identity **ret_identity, abx_error **reterr);
abx_identity *abx_identity_ref(abx_identity *identity);
void abx_identity_unref(abx_identity *identity);
abx_status abx_box_open(abx_context *context, abx_policy *policy, abx_identity *identity, abx_box **ret_box, abx_error **reterr);
uint64_t abx_box_get_id(abx_box *box);
abx_status abx_box_receipt(abx_box *box, char **ret_json, size_t *ret_length);
abx_status abx_box_grant(abx_box *box, const abx_request *pattern, int64_t expires_ms, uint32_t uses, const char *approver, uint64_t *ret_grant, abx_error **reterr);
abx_status abx_box_revoke(abx_box *box, uint64_t grant);
abx_status abx_box_grants(abx_box *box, char **ret_json, size_t *ret_length);
abx_status abx_box_attempt(abx_box *box, abx_process *process, const abx_request *request, abx_decision *decision, uint64_t *ret_ticket, abx_error **reterr);
abx_status abx_box_outcome(abx_box *box, uint64_t ticket, int64_t timeout_ms, abx_verdict *ret_verdict);
abx_status abx_box_suggest(abx_box *box, char **ret_json, size_t *ret_length, abx_error **reterr);
abx_status abx_box_request(abx_box *box, const abx_request *request, abx_decision *decision, uint64_t *ret_ticket, char **ret_json, abx_error **reterr);
abx_status abx_box_kill(abx_box *box);
abx_box *abx_box_ref(abx_box *box);
void abx_box_unref(abx_box *box);
abx_status abx_box_spawn(abx_box *box, const char *const *argv, const abx_spawn_options *options, abx_process **ret_process, abx_error **reterr);
abx_status abx_process_wait(abx_process *process, int64_t timeout_ms, abx_exit *exit);
abx_status abx_process_signal(abx_process *process, int32_t signal);
abx_status abx_process_resize(abx_process *process, uint32_t rows, uint32_t columns);
uint64_t abx_process_get_id(abx_process *process);
int64_t abx_process_take_stdio(abx_process *process, uint32_t which);
const char *abx_process_get_output(abx_process *process, uint32_t which, size_t *ret_length);
abx_status abx_process_explain(abx_process *process, const char *format, char **ret_text, size_t *ret_length);
abx_process *abx_process_ref(abx_process *process);
void abx_process_unref(abx_process *process);
abx_status abx_run(abx_context *context, abx_policy *policy, const char *const *argv, const abx_spawn_options *options, abx_process **ret_process, abx_error **reterr);
int64_t abx_context_take_wait_handle(abx_context *context);
abx_status abx_context_next_event(abx_context *context, abx_event **ret_event);
abx_status abx_context_dispatch(abx_context *context, abx_event_fn fn, void *user_data);
uint32_t abx_event_get_type(abx_event *event);
int64_t abx_event_get_int(abx_event *event, uint32_t field);
const char *abx_event_get_string(abx_event *event, uint32_t field);
abx_status abx_event_to_json(abx_event *event, char **ret_json, size_t *ret_length);
abx_status abx_event_to_text(abx_event *event, char **ret_text, size_t *ret_length);
abx_event *abx_event_ref(abx_event *event);
void abx_event_unref(abx_event *event);
abx_status abx_context_answer(abx_context *context, uint64_t ticket, const abx_answer *answer, abx_error **reterr);
abx_status abx_box_set_credential(abx_box *box, const char *name, const void *secret, size_t length, int64_t expires_ms, abx_error **reterr);
abx_status abx_context_supply(abx_context *context, uint64_t ticket, const void *secret, size_t length, int64_t expires_ms, abx_error **reterr);
abx_status abx_audit_verify(const char *const *paths, size_t count, abx_report **ret_report, abx_error **reterr);
abx_status abx_audit_render(const char *const *paths, size_t count, const char *format, const char *layer, char **ret_text, size_t *ret_length, abx_error **reterr);
abx_status abx_audit_redact(const char *path, const char *records, abx_report **ret_report, abx_error **reterr);
abx_status abx_audit_replay(abx_policy *policy, const char *const *paths, size_t count, abx_report **ret_report, abx_error **reterr);
abx_status abx_preflight(abx_policy *policy, abx_report **ret_report, abx_error **reterr);
size_t abx_report_get_count(abx_report *report);
const char *abx_report_get_string(abx_report *report, size_t row, const char *column);
abx_status abx_report_to_json(abx_report *report, char **ret_json, size_t *ret_length);
abx_report *abx_report_ref(abx_report *report);
void abx_report_unref(abx_report *report);
"""

DOCS = {
    'abx_version':
        'ABX_VERSION_HEX of the library that was loaded',
    'abx_feature_supported':
        '1 if this build knows `value` of the enum `which` (ABX_ENUM_*), else 0.',
    'abx_status_name':
        '"ABX_ERR_SETUP"',
    'abx_error_get_os_code':
        'errno, GetLastError() or 0',
    'abx_error_get_step':
        '"mount:/proc", "policy:/network/allow/3", or ""',
    'abx_error_get_message':
        'one line for people',
    'abx_error_get_remedy':
        'what to change, or ""',
    'abx_free':
        'buffers returned through a `ret_` parameter',
    'abx_context_new':
        'What "not in this version" marks is refused with ABX_ERR_UNSUPPORTED, never ignored. ABX_ERR_IO: the audit log '
        'cannot be opened, or is none. With an audit log every event is recorded before it is queued, and so are boxes, '
        'commands and answers; what cannot be recorded is not done: a command is not started (ABX_ERR_IO), a question '
        'is a denial of layer AUDIT, an answer or a grant changes nothing. Any number of processes may share a log.',
    'abx_context_stats':
        'From any thread, at any time, without waiting. What was denied or answered is counted before the call that '
        'waits for that goes on, and before abx_context_answer returns.',
    'abx_policy_builder_variable':
        'A setter that fails also poisons the builder, so checking abx_policy_builder_build is enough. before the rules '
        'that use ${name}',
    'abx_policy_builder_explain':
        'Says why the rule added last is there and what to do instead; both reach the denial.',
    'abx_policy_builder_weaken':
        'The only way to weaken the boundary; `reason` must not be empty and stays in the policy.',
    'abx_policy_builder_source':
        'Name of the document that is merged next, such as its file name: it is in errors, and the first one is the '
        "`source` of the policy's rules in events.",
    'abx_policy_builder_merge_json':
        'Rules in the JSON policy format: HTTP rules, actions, credentials, decoys, all of it.',
    'abx_policy_from_json':
        'Builder without a profile + merge_json + build, for a document that needs no variables.',
    'abx_policy_intersect':
        "What both allow: an organisation's ceiling over a user's policy. Never wider than either.",
    'abx_policy_compare':
        'What `after` allows and `before` does not, and the reverse: the outcome is an ABX_RELATION_*. It is exact for '
        'every request that abx_policy_evaluate takes, and for settings; that something is asked about counts as more '
        'than denied and less than allowed. Rows: "change" ("wider" or "narrower" seen from `before`, "changed" for '
        'what is neither, "idle" for a rule of `after` that decides nothing since others always do), "request", '
        '"example" (one that the two decide so), "before" and "after" (verdicts or values), "rule_before" and '
        '"rule_after" (source#id). Of what the same rules decide alike one example is shown; no difference of a kind of '
        'request and of verdicts is without a row. ABX_ERR_UNSUPPORTED: patterns overlap in more ways than can be '
        'looked at; then nothing is known.',
    'abx_policy_describe':
        'The boundary in words, for a model\'s tool description ("text", which NULL means, "markdown" or "json").',
    'abx_policy_get_digest':
        'SHA-256, hex',
    'abx_policy_explain':
        'JSON: verdict, rule, layer, reason, alternative, every rule that matched and why it lost; of an action, or a '
        'request that counts as one, `action` and its `arguments` in their one form. Arguments that do not fit are '
        'denied; what the URL of a request does not say may be in its body.',
    'abx_identity_new':
        'Who asked, which agent session acts, and the short-lived delegation it acts under (NULL: none). All three are '
        'names, not secrets: they are on every event of a box that has them, and a policy may send them with requests. '
        '`delegation_expires_ms` is Unix time, 0 is never. Once it has passed, nothing leaves such a box, nothing is '
        'asked or granted and no command starts: that is denied in the layer IDENTITY, with the rule '
        '"identity:delegation", and so are questions that are open then; abx_box_grant, and a yes or a secret that '
        'comes late, are ABX_ERR_DENIED. ABX_ERR_INVALID: a text is empty, longer than 256 bytes or has characters that '
        'are not seen.',
    'abx_box_open':
        'Builds the boundary once; commands then start in it at about the price of posix_spawn. `identity` may be NULL. '
        'ABX_ERR_DENIED: its delegation has expired. ABX_ERR_INVALID: there is none, and the policy tells hosts of it. '
        'ABX_ERR_UNSUPPORTED: this host cannot enforce some rule; the error names it and what to change. ABX_ERR_SETUP: '
        'the boundary did not stand, or its canary, an allowed and a denied sample of each kind of rule, was not '
        'stopped; nothing is left of it. With an audit log, ABX_ERR_POLICY: commands could read or write it; '
        'ABX_ERR_IO: the box could not be recorded.',
    'abx_box_receipt':
        'JSON receipt: rung, mechanism per layer, canary results, what is weaker and why, links in both spellings, '
        'digest of the policy.',
    'abx_box_grant':
        'A grant adds exactly one request for a while: ABX_REQUEST_PATH a path and one access ABX_REQUEST_EXEC a '
        "program's path ABX_REQUEST_CONNECT a host and a port ABX_REQUEST_HTTP a URL with its query, and a method "
        '(NULL: GET), whatever the body; to a host that the policy has rules about requests for, else ABX_ERR_DENIED. '
        'Not one that becomes a connection of its own (WebSocket): only the answer to its question lets that go '
        'ABX_REQUEST_ACTION a name that the policy declares and its arguments (NULL: none) as for abx_box_request, in '
        'whatever spelling they come; requests that count as it, too A path or URL that ends in a slash and two stars '
        'means all below, with any query. A request that counts as an action with arguments is granted as the action '
        'only. `expires_ms` is Unix time, 0 is never, and what is over is ABX_ERR_INVALID; 0 uses is unlimited; '
        '`approver` is a name as in abx_answer, or NULL. It lifts what the policy asks about or has no rule for, never '
        'what a rule denies: that is ABX_ERR_DENIED, and below a target with two stars it stays denied (nothing below '
        'can be lifted: ABX_ERR_DENIED). To a host that is allowed with rules about requests, `http`, a rule denies '
        'what these leave out, and a grant of the connection is ABX_ERR_DENIED, since it is allowed already. Limits of '
        'an action stay. ABX_ERR_DENIED also: arguments do not fit the action, or the delegation of the box has '
        'expired. Given and taken back, it is a NOTICE of layer APPROVAL with the rule "grant:N", what it adds '
        '(ABX_FIELD_ADDS: with its expiry and uses) and the approver; an action that is done under it has that rule and '
        'approver in its own NOTICE.',
    'abx_box_revoke':
        'After it returns nothing new is done under that grant: calls that are under way fail, connections to its host '
        'and port that nothing else allows are reset, and requests under way that it let through and nothing else '
        'allows are refused, or cut where the answer is on the way, each with its denial (rule "grant:revoked"). What '
        'arguments in its body a request had is not known any more, so one that counts as an action with such arguments '
        'nothing else allows. ABX_ERR_STATE: there is none, or its uses are used up.',
    'abx_box_attempt':
        'With ABX_BACKEND_SIMULATED only, else ABX_ERR_STATE: as if `process` (NULL: nobody that can be told) tried '
        'this. Policy, grants, questions, events and the explanation are those of a real box, and nothing is touched. '
        'An ABX_REQUEST_PATH (one access), _EXEC, _CONNECT, _HTTP or _SOCKET. ABX_OK: decided. ABX_NONE: held, the '
        'verdict is ASK, and `ret_ticket` (may be NULL) is for abx_context_answer and abx_box_outcome. `rule` and '
        '`layer` are what the policy says, whatever a grant adds. ABX_ERR_INVALID: the request is none. '
        'ABX_ERR_UNSUPPORTED: it is of another kind.  abx_box_spawn in such a box starts a command that is its own list '
        'of attempts, one in its arguments or, after "-c", one after the other with \';\' between: read PATH, write PATH, '
        'exec PATH, connect HOST:PORT, request METHOD URL, print TEXT, exit CODE, pause (until a signal). What is '
        'denied makes it 1, as in a shell. Another word is ABX_ERR_EXEC.',
    'abx_box_outcome':
        'What a held attempt came to, ABX_VERDICT_ALLOW or _DENY; ABX_NONE if it is still held after timeout_ms; 0 '
        'polls, -1 waits for ever. ABX_ERR_STATE: there was none, or the box was killed.',
    'abx_box_suggest':
        'In a context with ABX_CONTEXT_OBSERVE, else ABX_ERR_STATE: what the commands of this box did until now, as the '
        'smallest policy document that allows it again. Files become their directories, never "/", a home or a '
        'directory of the system to write to; connections become names and ports. The reason of each rule says which '
        'programs needed it. Left out is what was denied (those events are the list of it), and addresses without a '
        'name. ABX_ERR_STATE also where more was done than is remembered: a part of it would be another policy.',
    'abx_box_request':
        'May this action (ABX_REQUEST_ACTION: `target` is its name, `verb` its arguments, a JSON object or NULL) be '
        'done? ABX_OK: `decision` says allow or deny, and a denial has its event. ABX_NONE: an approver is asked under '
        '*ret_ticket; after the yes the same request is allowed, once where the answer was for once or for a command. '
        "What is allowed counts against the policy's limits of the action, as HTTP requests that count as it do; "
        '`per_command` is not about it: each request is a call of its own. *ret_json (may be NULL; the caller frees) is '
        'an object: "verdict"; "arguments" in their one form, which are what was shown, granted and may be done; '
        '"rule", "reason" (it begins with the JSON pointer of the argument that does not fit) and "alternative" where '
        'it is denied; "ticket"; and "idempotency_key", by which a server knows what was allowed once when it comes '
        'twice. ABX_ERR_INVALID: it is no request for an action. ABX_ERR_ABI: a struct is too short, or sets fields '
        'this build lacks. ABX_ERR_STATE: the box was killed or has ended.',
    'abx_box_kill':
        'every process in it, at once',
    'abx_box_unref':
        'the last one kills and reaps',
    'abx_box_spawn':
        'Returns once the command was started inside the finished boundary, or nothing runs.',
    'abx_process_wait':
        'ABX_NONE if it has not exited within timeout_ms; 0 polls, -1 waits for ever.',
    'abx_process_take_stdio':
        "The host's end of stream 0, 1 or 2: once for each PIPE; with PTY a duplicate of the terminal's master each "
        'time. The caller closes it; -1 if there is none.',
    'abx_process_get_output':
        'What a CAPTURE stream held when the command ended, at most ABX_LIMIT_OUTPUT bytes, with a NUL after it; NULL '
        'while it runs or without capture.',
    'abx_process_explain':
        'What stopped this command, for the model ("text") or a program ("json"): what was tried, why it failed and '
        'what to do next, by classes (ABX_CLASS_*); in JSON each entry that has one names it as "class". "" if nothing '
        'is known: then it failed by itself, or did not. Made from events and limits, never guessed from output.',
    'abx_process_unref':
        'the last one does not kill',
    'abx_run':
        'Opens a box, runs one command, captures its output (unless `options` says otherwise), waits for it and closes '
        'the box.',
    'abx_context_take_wait_handle':
        'Readable while events are queued: a pipe end on Unix, an event HANDLE on Windows. Each call makes a duplicate '
        "that the caller closes (event loops such as Node's close what they are given).",
    'abx_context_next_event':
        'Pull: ABX_OK and an event the caller releases, or ABX_NONE.',
    'abx_context_dispatch':
        'Push: calls `fn` for each event that was queued when it was called; ABX_NONE if there was none. `fn` borrows '
        'the event. One thread dispatches at a time; another gets ABX_NONE.',
    'abx_event_get_int':
        '0 if it has none',
    'abx_event_get_string':
        'NULL if it has none',
    'abx_event_to_json':
        'One object on one line; docs/events.md has the names.',
    'abx_event_to_text':
        'The event as lines for the person who is asked: what it is, what is wanted, the real target and below it what '
        'was spelled, who, for whom, by which rule and why. No name that a command chose can look like another, hide a '
        'part of itself or make a line: what could is written as its number, and of a long one the middle is left out, '
        'which is said. docs/events.md has the rules.',
    'abx_context_answer':
        'From any thread. No answer by the deadline is a denial; a second answer is ABX_ERR_STATE. One no is enough. '
        "ABX_NONE: this yes counts, and another approver must say it too (the event's ABX_FIELD_APPROVERS); then the "
        'narrower of both scopes holds. ABX_ERR_DENIED: it does not count, and the question stays open: no approver, '
        'the same one again, or no evidence where it is needed; or it ends the question as a denial: the delegation of '
        'the box has expired. Where a secret is wanted (ABX_EVENT_CREDENTIAL) only ABX_VERDICT_DENY is an answer, and '
        'abx_context_supply the other.',
    'abx_box_set_credential':
        'Gives a secret under the name that the policy has for it, before it is wanted, or another one later. It is '
        'copied into memory that is in no core file, never enters the box, and is wiped at `expires_ms` (Unix time, 0: '
        "never) or at the end of the policy's lease, whichever is first; then it is asked for again. A key that signs "
        '(sigv4) is "ID:SECRET" or "ID:SECRET:SESSION-TOKEN". The caller wipes its own copy. From any thread. '
        'ABX_ERR_INVALID: the policy has no such credential, or no request could carry this secret (shorter than 8 or '
        'longer than 8192 bytes, control characters, expired); the error does not have it. ABX_ERR_STATE: the box has '
        'no way out.',
    'abx_context_supply':
        'The same as the answer to an ABX_EVENT_CREDENTIAL: every request that waits for this credential goes on. '
        'ABX_ERR_STATE: no open question has this ticket, or not any more. ABX_ERR_DENIED: the delegation of the box '
        'has expired, and the question ends as a denial.',
    'abx_audit_verify':
        'Reads the files of one audit log, oldest first, to their end or to the first place that does not hold; the '
        'outcome is an ABX_AUDIT_*. A row for each file up to there: "file", "records", "first" and "last" (numbers), '
        '"hash" (of the last one), "state" ("whole", "torn", "broken"), "line" and "byte" of the break (else ""), '
        '"problem", "redacted" (how many of its records are). That the newest records were cut off shows only who kept '
        'an earlier "last" and "hash". Where the first file begins later than with record 1 it is broken, unless its '
        'first record says after which full file it goes on. ABX_ERR_IO: a file cannot be read, or is no regular file.',
    'abx_audit_render':
        'The records up to there, for people ("text", which NULL means), as JSON lines ("json"), or as one page that '
        'loads and runs nothing ("html"); of one layer ("filesystem" and so on) or of all (NULL). The outcome is that '
        'of abx_audit_verify; where a log is not whole the last lines say so. ABX_ERR_INVALID: there is no such format '
        'or layer.',
    'abx_audit_redact':
        'Takes out for good what some records of a log say; their numbers and hashes stay, so it holds as before. '
        "`path` is the log's name, whose full files are looked through, too; `records` are numbers and ranges, such as "
        '"3,7-9". All of a record goes, which is how far one can be redacted and still be verified; what the log says '
        'of itself (`rotated`, `recovered`, `lost`, `redaction`) stays. A record of type `redaction`, on the disk '
        "before anything changes, has the user's number and what was asked for. Each file that has such records is "
        "written anew with its mode and owner, and takes the old one's name: a crash loses nothing, and the same call "
        "goes on from there. The log's lock is held meanwhile, and boxes that record wait for it (docs/audit.md). Rows: "
        '"file" (its name without the directory) and "records", how many were redacted in it now; none where nothing '
        'was left to redact. ABX_ERR_INVALID: `records` is no such list, or the log does not have them all. ABX_ERR_IO: '
        "the log is not there, not whole, another user's or open to others, a file of it has another name, or cannot be "
        'written anew.',
    'abx_audit_replay':
        'What `policy`, as a box of this host would have it, says of the calls that a log tells of; the outcome is an '
        'ABX_REPLAY_*. The files are those of one log, oldest first; where one is given, its full files are read before '
        'it. Known are denials, questions, actions, programs that were started as commands, opened ports, wanted '
        'secrets and what a box in observe mode allowed: what a policy allows makes no record. Rows, for equal calls '
        'one: "change" ("denied", "asked" or "allowed": what they would be now), "request" ("read", "write", "exec", '
        '"connect", a method, "listen", "socket", "action", "credential"), "target", "before" and "after" (verdicts; '
        'what was asked about is so whatever the answer was), "rule" (source#id, which decides now) and its "reason", '
        '"calls" (how many), "first" (number of the first record), "programs", "commands" and "identities" (whose calls '
        'they were, "; " between). Then a row "same" with "calls" only, rows "skipped" for what cannot be replayed '
        '("request" is a word for why, "reason" says it), and "broken", whose "reason" says where. ABX_ERR_IO: a file '
        'cannot be read. ABX_ERR_POLICY or ABX_ERR_SETUP: no box of this host could have the policy.',
    'abx_preflight':
        'What this host can enforce of `policy` (NULL: of everything). Tries it: a harmless canary is run in a '
        'throw-away boundary and must be stopped; an API that merely returned success is not believed.',
}
