/* SPDX-License-Identifier: Apache-2.0
 * libagentbox - run untrusted commands inside a boundary.
 *
 * Ownership  *_new, *_from_*, *_ref, *_take_* and every `ret_` parameter give the caller a
 *            reference or buffer it must release; *_get_* lend a pointer that lives as long as
 *            the object it came from.  *_unref(NULL) and abx_free(NULL) do nothing.
 * Results    ABX_OK is 0, errors are negative, positive values are outcomes named per function.
 *            `ret_` parameters are written on success only, `reterr` (may be NULL) on error only.
 * Threads    [I] immutable: use anywhere.  [L] locked inside: use anywhere.
 *            [O] one thread at a time.  Reference counts are atomic for every type.
 *            There is one callback type, and it runs only inside abx_context_dispatch, on the
 *            thread that called it, with no lock held.  After fork() a child may only exec.
 * Text       UTF-8 and NUL-terminated; on Unix a path is any bytes.  Zero is always a default.
 * Process    The library never exits, prints, changes cwd, umask, environment or signal
 *            handlers, never forks the host, and never reaps a child that it did not start.
 */
#ifndef AGENTBOX_AGENTBOX_H
#define AGENTBOX_AGENTBOX_H

/* clang-format off */

#include <stddef.h>
#include <stdint.h>

#ifndef ABX_API /* binding generators define it empty */
#    if defined(_WIN32) && defined(ABX_BUILDING)
#        define ABX_API __declspec(dllexport)
#    elif defined(_WIN32)
#        define ABX_API __declspec(dllimport)
#    elif defined(__GNUC__)
#        define ABX_API __attribute__((visibility("default")))
#    else
#        define ABX_API
#    endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abx_error abx_error;                   /* [I] why a call failed               */
typedef struct abx_context abx_context;               /* [L] library instance, event queue   */
typedef struct abx_policy_builder abx_policy_builder; /* [O] collects rules                  */
typedef struct abx_policy abx_policy;                 /* [I] compiled rules                  */
typedef struct abx_identity abx_identity;             /* [I] on whose behalf                  */
typedef struct abx_box abx_box;                       /* [L] one open boundary, many commands */
typedef struct abx_process abx_process;               /* [L] one command in a box            */
typedef struct abx_event abx_event;                   /* [I] something that happened         */
typedef struct abx_report abx_report;                 /* [I] rows of findings                */

/* ---- version and features ------------------------------------------------------------- */
#define ABX_VERSION_HEX 0x000100 /* 8 bits each: major, minor, patch */

ABX_API uint32_t abx_version(void); /* ABX_VERSION_HEX of the library that was loaded */
ABX_API const char *abx_version_string(void);
enum abx_enum_values { ABX_ENUM_STATUS = 1, ABX_ENUM_REQUEST = 2, ABX_ENUM_EVENT = 3 };
/* 1 if this build knows `value` of the enum `which` (ABX_ENUM_*), else 0. */
ABX_API int32_t abx_feature_supported(uint32_t which, int64_t value);

/* ---- status and errors ---------------------------------------------------------------- */
typedef int32_t abx_status;
enum abx_status_values {
    ABX_OK = 0,
    ABX_NONE = 1,            /* nothing to return now: no event queued, still running */
    ABX_ERR_INVALID = -1001, /* caller error: bad argument or flag */
    ABX_ERR_ABI = -1002,     /* struct is too short, or sets fields this build lacks */
    ABX_ERR_STATE = -1003,   /* right call, wrong time */
    ABX_ERR_NOMEM = -1004,
    ABX_ERR_POLICY = -1005,      /* malformed policy; the error names the rule and the place */
    ABX_ERR_UNSUPPORTED = -1006, /* the host cannot enforce what the policy requires */
    ABX_ERR_SETUP = -1007,       /* boundary not built, nothing was run; see the error's step */
    ABX_ERR_EXEC = -1008,        /* boundary built, the command could not be started */
    ABX_ERR_TIMEOUT = -1009,
    ABX_ERR_IO = -1010,
    ABX_ERR_DENIED = -1011, /* a decision said no: a grant or a variable that the policy rules out */
    ABX_ERR_INTERNAL = -1099
};
ABX_API const char *abx_status_name(abx_status status); /* "ABX_ERR_SETUP" */
ABX_API abx_status abx_error_get_status(abx_error *error);
ABX_API int32_t abx_error_get_os_code(abx_error *error);     /* errno, GetLastError() or 0 */
ABX_API const char *abx_error_get_step(abx_error *error);    /* "mount:/proc", "policy:/network/allow/3", or "" */
ABX_API const char *abx_error_get_message(abx_error *error); /* one line for people */
ABX_API const char *abx_error_get_remedy(abx_error *error);  /* what to change, or "" */
ABX_API abx_error *abx_error_ref(abx_error *error);
ABX_API void abx_error_unref(abx_error *error);
ABX_API void abx_free(void *buffer); /* buffers returned through a `ret_` parameter */

/* ---- context -------------------------------------------------------------------------- */
enum abx_log_values { ABX_LOG_ERROR = 1, ABX_LOG_WARNING = 2, ABX_LOG_INFO = 3, ABX_LOG_DEBUG = 4 };
enum abx_backend_values {
    ABX_BACKEND_NATIVE = 0,   /* the strongest tier that this host can enforce */
    ABX_BACKEND_SIMULATED = 1 /* WARNING: nothing is enforced and no program runs; for tests of a harness */
};
enum abx_context_flag_values {
    /* Boxes allow what no rule of their policy speaks of, where that is safe, and a NOTICE tells of each
     * such thing that it would be denied: reads of all but secrets, writes in the workspace, connections
     * to public names.  What a rule denies or asks about stays so.  For abx_box_suggest.  WARNING:
     * not a boundary to live with; the receipt says so. */
    ABX_CONTEXT_OBSERVE = 1
};
typedef struct abx_context_options {
    uint32_t size;    /* sizeof(abx_context_options); zero in any other field means "default" */
    uint32_t backend; /* ABX_BACKEND_* */
    uint32_t log_level; /* log lines arrive as ABX_EVENT_LOG; 0 is none; not in this version */
    uint32_t events;    /* how many events wait at most before denials are dropped; 0 is 4,096 */
    const char *audit_path; /* append-only JSON lines, hash-chained (docs/audit.md); NULL: none is kept */
    const char *init_path;  /* the program in the box, where memfd may not be executed; NULL is carried */
    uint64_t audit_bytes;   /* the audit log goes on in a new file after that many, at least 4,096; 0 is 64 MiB */
    uint32_t audit_sync;    /* ABX_AUDIT_SYNC_* */
    uint32_t flags;         /* ABX_CONTEXT_* */
} abx_context_options;
/* When a record is on the disk: soon, so that it outlives the host program but maybe not the machine,
 * or before what it tells of goes on. */
enum abx_audit_sync_values { ABX_AUDIT_SYNC_NONE = 0, ABX_AUDIT_SYNC_RECORD = 1 };

/* What "not in this version" marks is refused with ABX_ERR_UNSUPPORTED, never ignored.  ABX_ERR_IO:
 * the audit log cannot be opened, or is none.  With an audit log every event is recorded before it is
 * queued, and so are boxes, commands and answers; what cannot be recorded is not done: a command is
 * not started (ABX_ERR_IO), a question is a denial of layer AUDIT, an answer or a grant changes
 * nothing.  Any number of processes may share a log. */
ABX_API abx_status abx_context_new(
        const abx_context_options *options, abx_context **ret_context, abx_error **reterr);
ABX_API abx_context *abx_context_ref(abx_context *context);
ABX_API void abx_context_unref(abx_context *context);
/* Counts since the context was made, of all its boxes, also of those that were closed.  A question is
 * asked once, however many equal calls wait for it, and ends in one of four ways:
 * `asked` is `granted` + `refused` + `timed_out` + `abandoned` + those that are open now. */
typedef struct abx_stats {
    uint32_t size;      /* set by the caller; fields past it are not written */
    uint32_t reserved;
    uint64_t boxes;     /* that were opened */
    uint64_t commands;  /* that were started */
    uint64_t denials;   /* attempts that were denied, all of them */
    uint64_t repeats;   /* of those: an equal one of the same command was denied before */
    uint64_t asked;     /* questions: for a yes, or for a secret */
    uint64_t granted;   /* yes, or the secret was given */
    uint64_t refused;   /* no, or the yes could not take effect: expired delegation, limit, audit log */
    uint64_t timed_out; /* no answer by the deadline, which is not after the end of the delegation */
    uint64_t abandoned; /* nobody waited any more: the command or the box ended */
    uint64_t held_ns;   /* that calls waited for answers, each for itself; those that wait now come in later */
} abx_stats;
/* From any thread, at any time, without waiting.  What was denied or answered is counted before the call
 * that waits for that goes on, and before abx_context_answer returns. */
ABX_API abx_status abx_context_stats(abx_context *context, abx_stats *stats);

/* ---- policy --------------------------------------------------------------------------- */
typedef uint32_t abx_verdict;
enum abx_verdict_values { ABX_VERDICT_DENY = 0, ABX_VERDICT_ALLOW = 1, ABX_VERDICT_ASK = 2 };
enum abx_access_values {
    ABX_ACCESS_READ = 1,
    ABX_ACCESS_WRITE = 2, /* create, change, rename, delete */
    ABX_ACCESS_EXEC = 4
};
enum abx_limit_values {
    ABX_LIMIT_MEMORY = 1,    /* bytes, whole box */
    ABX_LIMIT_PROCESSES = 2, /* whole box */
    ABX_LIMIT_CPU_MS = 3,    /* per command */
    ABX_LIMIT_WALL_MS = 4,   /* per command */
    ABX_LIMIT_FILE_SIZE = 5, /* bytes */
    ABX_LIMIT_OUTPUT = 6     /* bytes captured per stream */
};
enum abx_weaken_values {
    ABX_WEAKEN_HOST_NETWORK = 1,
    ABX_WEAKEN_NESTED_NAMESPACES = 2,
    ABX_WEAKEN_BEST_EFFORT = 3 /* run although some rule has no means on this host */
};

ABX_API abx_status abx_policy_builder_new(
        const char *profile, abx_policy_builder **ret_builder, abx_error **reterr);
ABX_API abx_policy_builder *abx_policy_builder_ref(abx_policy_builder *builder);
ABX_API void abx_policy_builder_unref(abx_policy_builder *builder);
/* A setter that fails also poisons the builder, so checking abx_policy_builder_build is enough. */
ABX_API abx_status abx_policy_builder_variable( /* before the rules that use ${name} */
        abx_policy_builder *builder, const char *name, const char *value);
ABX_API abx_status abx_policy_builder_path(
        abx_policy_builder *builder, const char *pattern, uint32_t access, abx_verdict verdict);
ABX_API abx_status abx_policy_builder_host(abx_policy_builder *builder, const char *host,
        uint16_t port_first, uint16_t port_last, abx_verdict verdict);
ABX_API abx_status abx_policy_builder_env(
        abx_policy_builder *builder, const char *name, const char *value);
ABX_API abx_status abx_policy_builder_limit(
        abx_policy_builder *builder, uint32_t limit, uint64_t value);
/* Says why the rule added last is there and what to do instead; both reach the denial. */
ABX_API abx_status abx_policy_builder_explain(
        abx_policy_builder *builder, const char *reason, const char *alternative);
/* The only way to weaken the boundary; `reason` must not be empty and stays in the policy. */
ABX_API abx_status abx_policy_builder_weaken(
        abx_policy_builder *builder, uint32_t what, const char *reason);
/* Name of the document that is merged next, such as its file name: it is in errors, and the first one is
 * the `source` of the policy's rules in events. */
ABX_API abx_status abx_policy_builder_source(abx_policy_builder *builder, const char *source);
/* Rules in the JSON policy format: HTTP rules, actions, credentials, decoys, all of it. */
ABX_API abx_status abx_policy_builder_merge_json(
        abx_policy_builder *builder, const char *json, size_t length);
ABX_API abx_status abx_policy_builder_build(
        abx_policy_builder *builder, abx_policy **ret_policy, abx_error **reterr);
/* Builder without a profile + merge_json + build, for a document that needs no variables. */
ABX_API abx_status abx_policy_from_json(
        const char *json, size_t length, abx_policy **ret_policy, abx_error **reterr);
ABX_API abx_status abx_policy_to_json(abx_policy *policy, char **ret_json, size_t *ret_length);
/* What both allow: an organisation's ceiling over a user's policy.  Never wider than either. */
ABX_API abx_status abx_policy_intersect(
        abx_policy *ceiling, abx_policy *policy, abx_policy **ret_policy, abx_error **reterr);
enum abx_relation_values {
    ABX_RELATION_EQUAL = 0,
    ABX_RELATION_WIDER = 1,
    ABX_RELATION_NARROWER = 2,
    ABX_RELATION_NEITHER = 3 /* each allows something that the other does not */
};
/* What `after` allows and `before` does not, and the reverse: the outcome is an ABX_RELATION_*.  It
 * is exact for every request that abx_policy_evaluate takes, and for settings; that something is
 * asked about counts as more than denied and less than allowed.  Rows: "change" ("wider" or
 * "narrower" seen from `before`, "changed" for what is neither, "idle" for a rule of
 * `after` that decides nothing since others always do), "request", "example" (one that the two
 * decide so), "before" and "after" (verdicts or values), "rule_before" and "rule_after" (source#id).
 * Of what the same rules decide alike one example is shown; no difference of a kind of request and
 * of verdicts is without a row.  ABX_ERR_UNSUPPORTED: patterns overlap in more ways than can be
 * looked at; then nothing is known. */
ABX_API abx_status abx_policy_compare(
        abx_policy *before, abx_policy *after, abx_report **ret_report, abx_error **reterr);
/* The boundary in words, for a model's tool description ("text", which NULL means, "markdown" or "json"). */
ABX_API abx_status abx_policy_describe(
        abx_policy *policy, const char *format, char **ret_text, size_t *ret_length);
ABX_API const char *abx_policy_get_digest(abx_policy *policy); /* SHA-256, hex */
ABX_API abx_policy *abx_policy_ref(abx_policy *policy);
ABX_API void abx_policy_unref(abx_policy *policy);

/* ---- decisions: pure, no I/O, no clock ------------------------------------------------- */
enum abx_request_values {
    ABX_REQUEST_PATH = 1,       /* target: absolute path; access */
    ABX_REQUEST_CONNECT = 2,    /* target: host name or address; port */
    ABX_REQUEST_HTTP = 3,       /* target: URL; verb: method, NULL is GET */
    ABX_REQUEST_EXEC = 4,       /* target: absolute path */
    ABX_REQUEST_LISTEN = 5,     /* port */
    ABX_REQUEST_SOCKET = 6,     /* target: unix socket path, or "@name" */
    ABX_REQUEST_ACTION = 7,     /* target: action name; verb: arguments as JSON */
    ABX_REQUEST_CREDENTIAL = 8, /* target: credential name; verb: host */
    ABX_REQUEST_SYSCALL = 9     /* target: name of a refused system call */
};
typedef struct abx_request {
    uint32_t size;   /* sizeof(abx_request); zero in any other field means "default" */
    uint32_t kind;   /* ABX_REQUEST_* */
    uint32_t access; /* ABX_ACCESS_* */
    uint32_t port;
    const char *target;
    const char *verb;
} abx_request;
typedef struct abx_decision {
    uint32_t size; /* set by the caller; fields past it are not written */
    abx_verdict verdict;
    uint32_t rule;  /* index of the rule that decided, or UINT32_MAX for the default */
    uint32_t layer; /* index of the policy layer that it came from */
} abx_decision;

ABX_API abx_status abx_policy_evaluate(
        abx_policy *policy, const abx_request *request, abx_decision *decision);
/* JSON: verdict, rule, layer, reason, alternative, every rule that matched and why it lost; of an
 * action, or a request that counts as one, `action` and its `arguments` in their one form.
 * Arguments that do not fit are denied; what the URL of a request does not say may be in its body.
 */
ABX_API abx_status abx_policy_explain(
        abx_policy *policy, const abx_request *request, char **ret_json, size_t *ret_length);

/* ---- identity --------------------------------------------------------------------------- */
/* Who asked, which agent session acts, and the short-lived delegation it acts under (NULL: none).
 * All three are names, not secrets: they are on every event of a box that has them, and a policy may
 * send them with requests.  `delegation_expires_ms` is Unix time, 0 is never.  Once it has passed,
 * nothing leaves such a box, nothing is asked or granted and no command starts: that is denied in the
 * layer IDENTITY, with the rule "identity:delegation", and so are questions that are open then; abx_box_grant,
 * and a yes or a secret that comes late, are ABX_ERR_DENIED.  ABX_ERR_INVALID: a text is empty, longer than
 * 256 bytes or has characters that are not seen. */
ABX_API abx_status abx_identity_new(const char *principal, const char *agent_session,
        const char *delegation, int64_t delegation_expires_ms, abx_identity **ret_identity,
        abx_error **reterr);
ABX_API abx_identity *abx_identity_ref(abx_identity *identity);
ABX_API void abx_identity_unref(abx_identity *identity);

/* ---- box -------------------------------------------------------------------------------- */
/* Builds the boundary once; commands then start in it at about the price of posix_spawn.  `identity`
 * may be NULL.  ABX_ERR_DENIED: its delegation has expired.  ABX_ERR_INVALID: there is
 * none, and the policy tells hosts of it.  ABX_ERR_UNSUPPORTED: this host cannot
 * enforce some rule; the error names it and what to change.  ABX_ERR_SETUP: the boundary did not stand, or its canary, an allowed
 * and a denied sample of each kind of rule, was not stopped; nothing is left of it.  With an audit log,
 * ABX_ERR_POLICY: commands could read or write it; ABX_ERR_IO: the box could not be recorded. */
ABX_API abx_status abx_box_open(abx_context *context, abx_policy *policy, abx_identity *identity,
        abx_box **ret_box, abx_error **reterr);
ABX_API uint64_t abx_box_get_id(abx_box *box);
/* JSON receipt: rung, mechanism per layer, canary results, what is weaker and why, links in both
 * spellings, digest of the policy. */
ABX_API abx_status abx_box_receipt(abx_box *box, char **ret_json, size_t *ret_length);
/* A grant adds exactly one request for a while:
 *   ABX_REQUEST_PATH     a path and one access
 *   ABX_REQUEST_EXEC     a program's path
 *   ABX_REQUEST_CONNECT  a host and a port
 *   ABX_REQUEST_HTTP     a URL with its query, and a method (NULL: GET), whatever the body; to a host that
 *                        the policy has rules about requests for, else ABX_ERR_DENIED.  Not one that
 *                        becomes a connection of its own (WebSocket): only the answer to its question
 *                        lets that go
 *   ABX_REQUEST_ACTION   a name that the policy declares and its arguments (NULL: none) as for abx_box_request,
 *                        in whatever spelling they come; requests that count as it, too
 * A path or URL that ends in a slash and two stars means all below, with any query.  A request that counts as an
 * action with arguments is granted as the action only.  `expires_ms` is Unix time, 0 is never, and what is over is
 * ABX_ERR_INVALID; 0 uses is unlimited; `approver` is a name as in abx_answer, or NULL.  It lifts what the policy asks about or has no rule for, never what a rule denies:
 * that is ABX_ERR_DENIED, and below a target with two stars it stays denied (nothing below can be lifted:
 * ABX_ERR_DENIED).  To a host that is allowed with rules about requests, `http`, a rule denies what these leave out,
 * and a grant of the connection is ABX_ERR_DENIED, since it is allowed already.  Limits of an action stay.  ABX_ERR_DENIED
 * also: arguments do not fit the action, or the delegation of the box has expired.  Given and taken back, it is a
 * NOTICE of layer APPROVAL with the rule "grant:N", what it adds (ABX_FIELD_ADDS: with its expiry and uses) and the
 * approver; an action that is done under it has that rule and approver in its own NOTICE. */
ABX_API abx_status abx_box_grant(abx_box *box, const abx_request *pattern, int64_t expires_ms,
        uint32_t uses, const char *approver, uint64_t *ret_grant, abx_error **reterr);
/* After it returns nothing new is done under that grant: calls that are under way fail, connections
 * to its host and port that nothing else allows are reset, and requests under way that it let through and nothing
 * else allows are refused, or cut where the answer is on the way, each with its denial (rule "grant:revoked").
 * What arguments in its body a request had is not known any more, so one that counts as an action with such
 * arguments nothing else allows.  ABX_ERR_STATE: there is none, or its uses are used up. */
ABX_API abx_status abx_box_revoke(abx_box *box, uint64_t grant);
ABX_API abx_status abx_box_grants(abx_box *box, char **ret_json, size_t *ret_length);
/* With ABX_BACKEND_SIMULATED only, else ABX_ERR_STATE: as if `process` (NULL: nobody that can be told)
 * tried this.  Policy, grants, questions, events and the explanation are those of a real box, and
 * nothing is touched.  An ABX_REQUEST_PATH (one access), _EXEC, _CONNECT, _HTTP or _SOCKET.  ABX_OK: decided.
 * ABX_NONE: held, the verdict is ASK, and `ret_ticket` (may be NULL) is for abx_context_answer and
 * abx_box_outcome.  `rule` and `layer` are what the policy says, whatever a grant adds.  ABX_ERR_INVALID: the
 * request is none.  ABX_ERR_UNSUPPORTED: it is of another kind.
 *
 * abx_box_spawn in such a box starts a command that is its own list of attempts, one in its arguments or,
 * after "-c", one after the other with ';' between: read PATH, write PATH, exec PATH, connect HOST:PORT,
 * request METHOD URL, print TEXT, exit CODE, pause (until a signal).  What is denied makes it 1, as in
 * a shell.  Another word is ABX_ERR_EXEC. */
ABX_API abx_status abx_box_attempt(abx_box *box, abx_process *process, const abx_request *request,
        abx_decision *decision, uint64_t *ret_ticket, abx_error **reterr);
/* What a held attempt came to, ABX_VERDICT_ALLOW or _DENY; ABX_NONE if it is still held after timeout_ms; 0
 * polls, -1 waits for ever.  ABX_ERR_STATE: there was none, or the box was killed. */
ABX_API abx_status abx_box_outcome(
        abx_box *box, uint64_t ticket, int64_t timeout_ms, abx_verdict *ret_verdict);
/* In a context with ABX_CONTEXT_OBSERVE, else ABX_ERR_STATE: what the commands of this box did until
 * now, as the smallest policy document that allows it again.  Files become their directories, never
 * "/", a home or a directory of the system to write to; connections become names and ports.  The
 * reason of each rule says which programs needed it.  Left out is what was denied (those events are
 * the list of it), and addresses without a name.  ABX_ERR_STATE also where more was done than is
 * remembered: a part of it would be another policy. */
ABX_API abx_status abx_box_suggest(
        abx_box *box, char **ret_json, size_t *ret_length, abx_error **reterr);
/* May this action (ABX_REQUEST_ACTION: `target` is its name, `verb` its arguments, a JSON object or NULL)
 * be done?  ABX_OK: `decision` says allow or deny, and a denial has its event.  ABX_NONE: an approver
 * is asked under *ret_ticket; after the yes the same request is allowed, once where the answer was for
 * once or for a command.  What is allowed counts against the policy's limits of the action, as HTTP
 * requests that count as it do; `per_command` is not about it: each request is a call of its own.
 * *ret_json (may be NULL; the caller frees) is an object: "verdict"; "arguments" in their one form, which
 * are what was shown, granted and may be done; "rule", "reason" (it begins with the JSON pointer of the
 * argument that does not fit) and "alternative" where it is denied; "ticket"; and "idempotency_key",
 * by which a server knows what was allowed once when it comes twice.  ABX_ERR_INVALID: it is no request for
 * an action.  ABX_ERR_ABI: a struct is too short, or sets fields this build lacks.  ABX_ERR_STATE: the box was
 * killed or has ended. */
ABX_API abx_status abx_box_request(abx_box *box, const abx_request *request, abx_decision *decision,
        uint64_t *ret_ticket, char **ret_json, abx_error **reterr);
ABX_API abx_status abx_box_kill(abx_box *box); /* every process in it, at once */
ABX_API abx_box *abx_box_ref(abx_box *box);
ABX_API void abx_box_unref(abx_box *box); /* the last one kills and reaps */

/* ---- process ---------------------------------------------------------------------------- */
enum abx_stdio_values {
    ABX_STDIO_NULL = 0,
    ABX_STDIO_PIPE = 1,
    ABX_STDIO_HANDLE = 2,
    ABX_STDIO_PTY = 3,
    ABX_STDIO_CAPTURE = 4 /* bounded, read with abx_process_get_output after exit */
};
typedef struct abx_spawn_options {
    uint32_t size;     /* sizeof(abx_spawn_options); zero in any other field means "default" */
    uint32_t flags;    /* none yet */
    uint32_t stdio[3]; /* ABX_STDIO_*; PTY must be given for all three */
    uint32_t rows;     /* with PTY */
    uint32_t columns;
    uint32_t reserved;
    int64_t handle[3]; /* with HANDLE: a descriptor or HANDLE, duplicated by the call */
    uint64_t timeout_ms;
    const char *cwd;   /* as seen inside the box */
    const char *label; /* the harness's own id of this tool call; is on every event */
    const char *const *env; /* "NAME=value", NULL-terminated, on top of the policy's; names it forbids are an error */
} abx_spawn_options;
typedef struct abx_exit {
    uint32_t size;
    uint32_t reason; /* ABX_EXIT_* */
    int32_t code;    /* exit code, or the signal that ended it */
    uint32_t denials; /* attempts that were denied, all of them */
    uint64_t cpu_us;
    uint64_t peak_memory;
} abx_exit;
enum abx_exit_values {
    ABX_EXIT_CODE = 1,
    ABX_EXIT_SIGNAL = 2,
    ABX_EXIT_TIMEOUT = 3,
    ABX_EXIT_LIMIT = 4,
    ABX_EXIT_KILLED = 5
};

/* Returns once the command was started inside the finished boundary, or nothing runs. */
ABX_API abx_status abx_box_spawn(abx_box *box, const char *const *argv,
        const abx_spawn_options *options, abx_process **ret_process, abx_error **reterr);
/* ABX_NONE if it has not exited within timeout_ms; 0 polls, -1 waits for ever. */
ABX_API abx_status abx_process_wait(abx_process *process, int64_t timeout_ms, abx_exit *exit);
ABX_API abx_status abx_process_signal(abx_process *process, int32_t signal);
ABX_API abx_status abx_process_resize(abx_process *process, uint32_t rows, uint32_t columns);
ABX_API uint64_t abx_process_get_id(abx_process *process);
/* The host's end of stream 0, 1 or 2: once for each PIPE; with PTY a duplicate of the terminal's master
 * each time.  The caller closes it; -1 if there is none. */
ABX_API int64_t abx_process_take_stdio(abx_process *process, uint32_t which);
/* What a CAPTURE stream held when the command ended, at most ABX_LIMIT_OUTPUT bytes, with a NUL after
 * it; NULL while it runs or without capture. */
ABX_API const char *abx_process_get_output(
        abx_process *process, uint32_t which, size_t *ret_length);
/* What stopped this command, for the model ("text") or a program ("json"): what was tried, why it
 * failed and what to do next, by classes (ABX_CLASS_*); in JSON each entry that has one names it as
 * "class".  "" if nothing is known: then it failed by itself, or did not.  Made from events and
 * limits, never guessed from output. */
ABX_API abx_status abx_process_explain(
        abx_process *process, const char *format, char **ret_text, size_t *ret_length);
ABX_API abx_process *abx_process_ref(abx_process *process);
ABX_API void abx_process_unref(abx_process *process); /* the last one does not kill */

/* Opens a box, runs one command, captures its output (unless `options` says otherwise), waits for it and
 * closes the box. */
ABX_API abx_status abx_run(abx_context *context, abx_policy *policy, const char *const *argv,
        const abx_spawn_options *options, abx_process **ret_process, abx_error **reterr);

/* ---- events ----------------------------------------------------------------------------- */
enum abx_event_values {
    ABX_EVENT_DENIAL = 1,
    ABX_EVENT_APPROVAL = 2,   /* a call is held until answered or until the deadline */
    ABX_EVENT_CREDENTIAL = 3, /* a secret is wanted: TARGET is its name, VERB the host; a request is held */
    ABX_EVENT_STARTED = 4,
    ABX_EVENT_EXITED = 5,
    ABX_EVENT_DROPPED = 6,
    ABX_EVENT_LOG = 7,
    ABX_EVENT_NOTICE = 8 /* not denied, and worth knowing: a port opened, a yes, a grant given or taken back, a set-uid
                          * program, a server that refused a request (ABX_FIELD_CLASS) */
};
enum abx_retry_values { /* how a grant takes effect */
    ABX_RETRY_NONE = 0,  /* no grant can help */
    ABX_RETRY_HELD = 1,  /* the call is waiting and goes on */
    ABX_RETRY_RERUN = 2  /* grant, then run the command again */
};
enum abx_class_values { /* what kind of failure it is: tells a model what to do next */
    ABX_CLASS_POLICY = 1,     /* the policy or the boundary denied it, and would again */
    ABX_CLASS_APPROVAL = 2,   /* it needed a yes, and somebody refused or nobody answered */
    ABX_CLASS_IDENTITY = 3,   /* who asks was not accepted: no login, no right, no secret, an expired delegation */
    ABX_CLASS_VALIDATION = 4, /* a server refused the values of a named action: not the sandbox */
    ABX_CLASS_TERMINAL = 5,   /* the program asked for a terminal, and has none */
    ABX_CLASS_LIMIT = 6       /* a limit was reached */
};
enum abx_layer_values { /* which boundary spoke: tells a model where to look */
    ABX_LAYER_FILESYSTEM = 1,
    ABX_LAYER_NETWORK = 2,
    ABX_LAYER_PROCESS = 3,
    ABX_LAYER_IDENTITY = 4,
    ABX_LAYER_ACTION = 5,
    ABX_LAYER_APPROVAL = 6,
    ABX_LAYER_TERMINAL = 7,
    ABX_LAYER_LIMIT = 8,
    ABX_LAYER_SETUP = 9,
    ABX_LAYER_AUDIT = 10 /* it could not be recorded, so it was not done */
};
enum abx_field_values {
    ABX_FIELD_SEQUENCE = 1,
    ABX_FIELD_TIME_NS = 2,      /* Unix time */
    ABX_FIELD_BOX = 3,
    ABX_FIELD_PROCESS = 4,
    ABX_FIELD_LABEL = 5,
    ABX_FIELD_PID = 6,
    ABX_FIELD_PROGRAM = 7,
    ABX_FIELD_LAYER = 8,
    ABX_FIELD_REQUEST = 9,
    ABX_FIELD_ACCESS = 10,
    ABX_FIELD_TARGET = 11,
    ABX_FIELD_PORT = 12,
    ABX_FIELD_VERB = 13,
    ABX_FIELD_RULE = 14,
    ABX_FIELD_SOURCE = 15,      /* the policy layer: "managed", "user", "task" or a file name */
    ABX_FIELD_REASON = 16,
    ABX_FIELD_ALTERNATIVE = 17, /* what is allowed instead */
    ABX_FIELD_BACKEND = 18,
    ABX_FIELD_REPEATS = 19,     /* how many equal attempts this event stands for; 1 is one */
    ABX_FIELD_TICKET = 20,
    ABX_FIELD_DEADLINE_MS = 21, /* Unix time after which no answer is a denial */
    ABX_FIELD_DROPPED = 22,
    ABX_FIELD_LEVEL = 23,
    ABX_FIELD_MESSAGE = 24,
    ABX_FIELD_ASKED = 25,       /* the name as the program gave it, where TARGET is another */
    ABX_FIELD_ADDS = 26,        /* on an approval: exactly what a grant would add, as JSON; on a grant: what it adds,
                                 * until when and how often */
    ABX_FIELD_RETRY = 27,       /* ABX_RETRY_* */
    ABX_FIELD_EXIT_REASON = 28,
    ABX_FIELD_EXIT_CODE = 29,
    ABX_FIELD_PRINCIPAL = 30,   /* of the box's identity, on each of its events */
    ABX_FIELD_AGENT_SESSION = 31,
    ABX_FIELD_DELEGATION = 32,
    ABX_FIELD_APPROVERS = 33,   /* on an approval: how many different ones must say yes */
    ABX_FIELD_STEP_UP = 34,     /* on an approval: 1, a yes needs evidence */
    ABX_FIELD_APPROVER = 35,    /* who answered or gave a grant: a name, or two with a comma between them; on an action
                                 * that was allowed by that, too */
    ABX_FIELD_EVIDENCE = 36,    /* SHA-256 of the evidence, hex; two with a comma */
    ABX_FIELD_IDEMPOTENCY_KEY = 37, /* of an action that was allowed */
    ABX_FIELD_BOUND = 38,       /* on an approval: what else was shown, which a yes is for, as JSON */
    ABX_FIELD_CLASS = 39,       /* ABX_CLASS_*: of what kept a command from its end; other events have none */
    ABX_FIELD_HTTP_STATUS = 40, /* with which a server, or a proxy outside, refused a request */
    ABX_FIELD_PROBLEM = 41      /* what a server said about it, as JSON: "title", "detail", and "fields", the
                                 * names of values it does not take.  Bounded, and its words: not to be trusted */
};

/* Readable while events are queued: a pipe end on Unix, an event HANDLE on Windows.  Each call makes a
 * duplicate that the caller closes (event loops such as Node's close what they are given). */
ABX_API int64_t abx_context_take_wait_handle(abx_context *context);
/* Pull: ABX_OK and an event the caller releases, or ABX_NONE. */
ABX_API abx_status abx_context_next_event(abx_context *context, abx_event **ret_event);
typedef void (*abx_event_fn)(void *user_data, abx_event *event);
/* Push: calls `fn` for each event that was queued when it was called; ABX_NONE if there was none.
 * `fn` borrows the event.  One thread dispatches at a time; another gets ABX_NONE. */
ABX_API abx_status abx_context_dispatch(abx_context *context, abx_event_fn fn, void *user_data);
ABX_API uint32_t abx_event_get_type(abx_event *event);
ABX_API int64_t abx_event_get_int(abx_event *event, uint32_t field); /* 0 if it has none */
ABX_API const char *abx_event_get_string(
        abx_event *event, uint32_t field); /* NULL if it has none */
/* One object on one line; docs/events.md has the names. */
ABX_API abx_status abx_event_to_json(abx_event *event, char **ret_json, size_t *ret_length);
/* The event as lines for the person who is asked: what it is, what is wanted, the real target and
 * below it what was spelled, who, for whom, by which rule and why.  No name that a command chose can
 * look like another, hide a part of itself or make a line: what could is written as its number,
 * and of a long one the middle is left out, which is said.  docs/events.md has the rules. */
ABX_API abx_status abx_event_to_text(abx_event *event, char **ret_text, size_t *ret_length);
ABX_API abx_event *abx_event_ref(abx_event *event);
ABX_API void abx_event_unref(abx_event *event);

/* ---- answers ----------------------------------------------------------------------------- */
enum abx_scope_values {
    ABX_SCOPE_ONCE = 0,    /* the calls that wait on this question, and nothing else: all equal ones
                              do that come until it is answered, also after it was shown */
    ABX_SCOPE_COMMAND = 1, /* until this command ends */
    ABX_SCOPE_BOX = 2,     /* until the box is closed */
    ABX_SCOPE_UNTIL = 3    /* in this box until expires_ms, Unix time */
};
typedef struct abx_answer {
    uint32_t size;
    abx_verdict verdict;
    uint32_t scope; /* ABX_SCOPE_* */
    uint32_t reserved;
    int64_t expires_ms; /* with ABX_SCOPE_UNTIL: still to come, else ABX_ERR_INVALID */
    const char *approver; /* who said so: UTF-8, at most 256 bytes, all of it seen: no controls */
    const char *evidence; /* step-up proof that the host has checked; only its digest is kept */
    const char *message;  /* reaches the model with a refusal */
} abx_answer;
/* From any thread.  No answer by the deadline is a denial; a second answer is ABX_ERR_STATE.  One no
 * is enough.  ABX_NONE: this yes counts, and another approver must say it too (the event's
 * ABX_FIELD_APPROVERS); then the narrower of both scopes holds.  ABX_ERR_DENIED: it does not count,
 * and the question stays open: no approver, the same one again, or no evidence where it is needed; or it ends the
 * question as a denial: the delegation of the box has expired.  Where a
 * secret is wanted (ABX_EVENT_CREDENTIAL) only ABX_VERDICT_DENY is an answer, and
 * abx_context_supply the other. */
ABX_API abx_status abx_context_answer(
        abx_context *context, uint64_t ticket, const abx_answer *answer, abx_error **reterr);
/* Gives a secret under the name that the policy has for it, before it is wanted, or another one
 * later.  It is copied into memory that is in no core file, never enters the box, and is wiped at
 * `expires_ms` (Unix time, 0: never) or at the end of the policy's lease, whichever is first; then
 * it is asked for again.  A key that signs (sigv4) is "ID:SECRET" or "ID:SECRET:SESSION-TOKEN".
 * The caller wipes its own copy.  From any thread.  ABX_ERR_INVALID: the policy has no such
 * credential, or no request could carry this secret (shorter than 8 or longer than 8192 bytes,
 * control characters, expired); the error does not have it.  ABX_ERR_STATE: the box has no way out. */
ABX_API abx_status abx_box_set_credential(abx_box *box, const char *name, const void *secret,
        size_t length, int64_t expires_ms, abx_error **reterr);
/* The same as the answer to an ABX_EVENT_CREDENTIAL: every request that waits for this credential goes
 * on.  ABX_ERR_STATE: no open question has this ticket, or not any more.  ABX_ERR_DENIED: the delegation of the box
 * has expired, and the question ends as a denial. */
ABX_API abx_status abx_context_supply(abx_context *context, uint64_t ticket, const void *secret,
        size_t length, int64_t expires_ms, abx_error **reterr);

/* ---- audit ------------------------------------------------------------------------------ */
enum abx_audit_values {
    ABX_AUDIT_WHOLE = 0,
    ABX_AUDIT_TORN = 1,  /* the last record was written in part: a writer was killed, or writes now */
    ABX_AUDIT_BROKEN = 2 /* something was changed, taken out, put in or moved */
};
/* Reads the files of one audit log, oldest first, to their end or to the first place that does not
 * hold; the outcome is an ABX_AUDIT_*.  A row for each file up to there: "file", "records", "first"
 * and "last" (numbers), "hash" (of the last one), "state" ("whole", "torn", "broken"), "line" and
 * "byte" of the break (else ""), "problem", "redacted" (how many of its records are).  That the newest records were cut off shows only who
 * kept an earlier "last" and "hash".  Where the first file begins later than with record 1 it is
 * broken, unless its first record says after which full file it goes on.  ABX_ERR_IO: a file cannot
 * be read, or is no regular file. */
ABX_API abx_status abx_audit_verify(const char *const *paths, size_t count,
        abx_report **ret_report, abx_error **reterr);
/* The records up to there, for people ("text", which NULL means), as JSON lines ("json"), or as one
 * page that loads and runs nothing ("html"); of one layer ("filesystem" and so on) or of all (NULL).
 * The outcome is that of abx_audit_verify; where a log is not whole the last lines say so.
 * ABX_ERR_INVALID: there is no such format or layer. */
ABX_API abx_status abx_audit_render(const char *const *paths, size_t count, const char *format,
        const char *layer, char **ret_text, size_t *ret_length, abx_error **reterr);
/* Takes out for good what some records of a log say; their numbers and hashes stay, so it holds as before.
 * `path` is the log's name, whose full files are looked through, too; `records` are numbers and ranges, such
 * as "3,7-9".  All of a record goes, which is how far one can be redacted and still be verified; what the log
 * says of itself (`rotated`, `recovered`, `lost`, `redaction`) stays.  A record of type `redaction`, on the
 * disk before anything changes, has the user's number and what was asked for.  Each file that has
 * such records is written anew with its mode and owner, and takes the old one's name: a crash loses
 * nothing, and the same call goes on from there.  The log's lock is held meanwhile, and boxes that
 * record wait for it (docs/audit.md).  Rows: "file" (its name without the directory) and "records", how many
 * were redacted in it now; none where nothing was left to redact.  ABX_ERR_INVALID: `records` is no such
 * list, or the log does not have them all.  ABX_ERR_IO: the log is not there, not whole, another user's or
 * open to others, a file of it has another name, or cannot be written anew. */
ABX_API abx_status abx_audit_redact(const char *path, const char *records, abx_report **ret_report,
        abx_error **reterr);
enum abx_replay_values {
    ABX_REPLAY_SAME = 0,    /* all calls are decided as they were */
    ABX_REPLAY_CHANGED = 1, /* some are not */
    ABX_REPLAY_BROKEN = 2   /* the log does not hold; the rows are about the records before that */
};
/* What `policy`, as a box of this host would have it, says of the calls that a log tells of; the outcome is
 * an ABX_REPLAY_*.  The files are those of one log, oldest first; where one is given, its full files are read
 * before it.  Known are denials, questions, actions, programs that were started as commands, opened ports,
 * wanted secrets and what a box in observe mode allowed: what a policy allows makes no record.  Rows, for
 * equal calls one: "change" ("denied", "asked" or "allowed": what they would be now), "request" ("read",
 * "write", "exec", "connect", a method, "listen", "socket", "action", "credential"), "target", "before"
 * and "after" (verdicts; what was asked about is so whatever the answer was), "rule" (source#id, which
 * decides now) and its "reason", "calls" (how many), "first" (number of the first record), "programs",
 * "commands" and "identities" (whose calls they were, "; " between).  Then a row "same" with "calls" only, rows
 * "skipped" for what cannot be replayed ("request" is a word for why, "reason" says it), and "broken",
 * whose "reason" says where.  ABX_ERR_IO: a file cannot be read.  ABX_ERR_POLICY or
 * ABX_ERR_SETUP: no box of this host could have the policy. */
ABX_API abx_status abx_audit_replay(abx_policy *policy, const char *const *paths, size_t count,
        abx_report **ret_report, abx_error **reterr);

/* ---- preflight ------------------------------------------------------------------------ */
/* What this host can enforce of `policy` (NULL: of everything).  Tries it: a harmless canary is
 * run in a throw-away boundary and must be stopped; an API that merely returned success is not
 * believed. */
ABX_API abx_status abx_preflight(abx_policy *policy, abx_report **ret_report, abx_error **reterr);
ABX_API size_t abx_report_get_count(abx_report *report);
ABX_API const char *abx_report_get_string(abx_report *report, size_t row, const char *column);
ABX_API abx_status abx_report_to_json(abx_report *report, char **ret_json, size_t *ret_length);
ABX_API abx_report *abx_report_ref(abx_report *report);
ABX_API void abx_report_unref(abx_report *report);

#ifdef __cplusplus
}
#endif
#endif /* AGENTBOX_AGENTBOX_H */
