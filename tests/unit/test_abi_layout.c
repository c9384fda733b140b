/* SPDX-License-Identifier: Apache-2.0
 * Sizes, offsets and values of the public header, as the compiler sees them.  Only additions may
 * ever appear in a change of this file. */
#include <agentbox/agentbox.h>

#include "unit/main.h"

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define FIELD(type, field, offset)                                                                 \
    _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define VALUE(name, value) _Static_assert((name) == (value), #name)

#if UINTPTR_MAX == UINT64_MAX
SIZE(abx_context_options, 48);
FIELD(abx_context_options, size, 0);
FIELD(abx_context_options, backend, 4);
FIELD(abx_context_options, log_level, 8);
FIELD(abx_context_options, events, 12);
FIELD(abx_context_options, audit_path, 16);
FIELD(abx_context_options, init_path, 24);
FIELD(abx_context_options, audit_bytes, 32);
FIELD(abx_context_options, audit_sync, 40);
FIELD(abx_context_options, flags, 44);
SIZE(abx_request, 32);
FIELD(abx_request, size, 0);
FIELD(abx_request, kind, 4);
FIELD(abx_request, access, 8);
FIELD(abx_request, port, 12);
FIELD(abx_request, target, 16);
FIELD(abx_request, verb, 24);
SIZE(abx_decision, 16);
FIELD(abx_decision, size, 0);
FIELD(abx_decision, verdict, 4);
FIELD(abx_decision, rule, 8);
FIELD(abx_decision, layer, 12);
SIZE(abx_spawn_options, 88);
FIELD(abx_spawn_options, size, 0);
FIELD(abx_spawn_options, flags, 4);
FIELD(abx_spawn_options, stdio, 8);
FIELD(abx_spawn_options, rows, 20);
FIELD(abx_spawn_options, columns, 24);
FIELD(abx_spawn_options, reserved, 28);
FIELD(abx_spawn_options, handle, 32);
FIELD(abx_spawn_options, timeout_ms, 56);
FIELD(abx_spawn_options, cwd, 64);
FIELD(abx_spawn_options, label, 72);
FIELD(abx_spawn_options, env, 80);
SIZE(abx_exit, 32);
FIELD(abx_exit, size, 0);
FIELD(abx_exit, reason, 4);
FIELD(abx_exit, code, 8);
FIELD(abx_exit, denials, 12);
FIELD(abx_exit, cpu_us, 16);
FIELD(abx_exit, peak_memory, 24);
SIZE(abx_answer, 48);
FIELD(abx_answer, size, 0);
FIELD(abx_answer, verdict, 4);
FIELD(abx_answer, scope, 8);
FIELD(abx_answer, reserved, 12);
FIELD(abx_answer, expires_ms, 16);
FIELD(abx_answer, approver, 24);
FIELD(abx_answer, evidence, 32);
FIELD(abx_answer, message, 40);
SIZE(abx_stats, 88);
FIELD(abx_stats, size, 0);
FIELD(abx_stats, reserved, 4);
FIELD(abx_stats, boxes, 8);
FIELD(abx_stats, commands, 16);
FIELD(abx_stats, denials, 24);
FIELD(abx_stats, repeats, 32);
FIELD(abx_stats, asked, 40);
FIELD(abx_stats, granted, 48);
FIELD(abx_stats, refused, 56);
FIELD(abx_stats, timed_out, 64);
FIELD(abx_stats, abandoned, 72);
FIELD(abx_stats, held_ns, 80);
#endif

VALUE(ABX_ENUM_STATUS, 1);
VALUE(ABX_ENUM_REQUEST, 2);
VALUE(ABX_ENUM_EVENT, 3);
VALUE(ABX_OK, 0);
VALUE(ABX_NONE, 1);
VALUE(ABX_ERR_INVALID, -1001);
VALUE(ABX_ERR_ABI, -1002);
VALUE(ABX_ERR_STATE, -1003);
VALUE(ABX_ERR_NOMEM, -1004);
VALUE(ABX_ERR_POLICY, -1005);
VALUE(ABX_ERR_UNSUPPORTED, -1006);
VALUE(ABX_ERR_SETUP, -1007);
VALUE(ABX_ERR_EXEC, -1008);
VALUE(ABX_ERR_TIMEOUT, -1009);
VALUE(ABX_ERR_IO, -1010);
VALUE(ABX_ERR_DENIED, -1011);
VALUE(ABX_ERR_INTERNAL, -1099);
VALUE(ABX_LOG_ERROR, 1);
VALUE(ABX_LOG_WARNING, 2);
VALUE(ABX_LOG_INFO, 3);
VALUE(ABX_LOG_DEBUG, 4);
VALUE(ABX_BACKEND_NATIVE, 0);
VALUE(ABX_BACKEND_SIMULATED, 1);
VALUE(ABX_CONTEXT_OBSERVE, 1);
VALUE(ABX_VERDICT_DENY, 0);
VALUE(ABX_VERDICT_ALLOW, 1);
VALUE(ABX_VERDICT_ASK, 2);
VALUE(ABX_ACCESS_READ, 1);
VALUE(ABX_ACCESS_WRITE, 2);
VALUE(ABX_ACCESS_EXEC, 4);
VALUE(ABX_LIMIT_MEMORY, 1);
VALUE(ABX_LIMIT_PROCESSES, 2);
VALUE(ABX_LIMIT_CPU_MS, 3);
VALUE(ABX_LIMIT_WALL_MS, 4);
VALUE(ABX_LIMIT_FILE_SIZE, 5);
VALUE(ABX_LIMIT_OUTPUT, 6);
VALUE(ABX_WEAKEN_HOST_NETWORK, 1);
VALUE(ABX_WEAKEN_NESTED_NAMESPACES, 2);
VALUE(ABX_WEAKEN_BEST_EFFORT, 3);
VALUE(ABX_REQUEST_PATH, 1);
VALUE(ABX_REQUEST_CONNECT, 2);
VALUE(ABX_REQUEST_HTTP, 3);
VALUE(ABX_REQUEST_EXEC, 4);
VALUE(ABX_REQUEST_LISTEN, 5);
VALUE(ABX_REQUEST_SOCKET, 6);
VALUE(ABX_REQUEST_ACTION, 7);
VALUE(ABX_REQUEST_CREDENTIAL, 8);
VALUE(ABX_REQUEST_SYSCALL, 9);
VALUE(ABX_STDIO_NULL, 0);
VALUE(ABX_STDIO_PIPE, 1);
VALUE(ABX_STDIO_HANDLE, 2);
VALUE(ABX_STDIO_PTY, 3);
VALUE(ABX_STDIO_CAPTURE, 4);
VALUE(ABX_EXIT_CODE, 1);
VALUE(ABX_EXIT_SIGNAL, 2);
VALUE(ABX_EXIT_TIMEOUT, 3);
VALUE(ABX_EXIT_LIMIT, 4);
VALUE(ABX_EXIT_KILLED, 5);
VALUE(ABX_EVENT_DENIAL, 1);
VALUE(ABX_EVENT_APPROVAL, 2);
VALUE(ABX_EVENT_CREDENTIAL, 3);
VALUE(ABX_EVENT_STARTED, 4);
VALUE(ABX_EVENT_EXITED, 5);
VALUE(ABX_EVENT_DROPPED, 6);
VALUE(ABX_EVENT_LOG, 7);
VALUE(ABX_EVENT_NOTICE, 8);
VALUE(ABX_RETRY_NONE, 0);
VALUE(ABX_RETRY_HELD, 1);
VALUE(ABX_RETRY_RERUN, 2);
VALUE(ABX_LAYER_FILESYSTEM, 1);
VALUE(ABX_LAYER_NETWORK, 2);
VALUE(ABX_LAYER_PROCESS, 3);
VALUE(ABX_LAYER_IDENTITY, 4);
VALUE(ABX_LAYER_ACTION, 5);
VALUE(ABX_LAYER_APPROVAL, 6);
VALUE(ABX_LAYER_TERMINAL, 7);
VALUE(ABX_LAYER_LIMIT, 8);
VALUE(ABX_LAYER_SETUP, 9);
VALUE(ABX_LAYER_AUDIT, 10);
VALUE(ABX_AUDIT_SYNC_NONE, 0);
VALUE(ABX_AUDIT_SYNC_RECORD, 1);
VALUE(ABX_AUDIT_WHOLE, 0);
VALUE(ABX_AUDIT_TORN, 1);
VALUE(ABX_AUDIT_BROKEN, 2);
VALUE(ABX_FIELD_SEQUENCE, 1);
VALUE(ABX_FIELD_TIME_NS, 2);
VALUE(ABX_FIELD_BOX, 3);
VALUE(ABX_FIELD_PROCESS, 4);
VALUE(ABX_FIELD_LABEL, 5);
VALUE(ABX_FIELD_PID, 6);
VALUE(ABX_FIELD_PROGRAM, 7);
VALUE(ABX_FIELD_LAYER, 8);
VALUE(ABX_FIELD_REQUEST, 9);
VALUE(ABX_FIELD_ACCESS, 10);
VALUE(ABX_FIELD_TARGET, 11);
VALUE(ABX_FIELD_PORT, 12);
VALUE(ABX_FIELD_VERB, 13);
VALUE(ABX_FIELD_RULE, 14);
VALUE(ABX_FIELD_SOURCE, 15);
VALUE(ABX_FIELD_REASON, 16);
VALUE(ABX_FIELD_ALTERNATIVE, 17);
VALUE(ABX_FIELD_BACKEND, 18);
VALUE(ABX_FIELD_REPEATS, 19);
VALUE(ABX_FIELD_TICKET, 20);
VALUE(ABX_FIELD_DEADLINE_MS, 21);
VALUE(ABX_FIELD_DROPPED, 22);
VALUE(ABX_FIELD_LEVEL, 23);
VALUE(ABX_FIELD_MESSAGE, 24);
VALUE(ABX_FIELD_ASKED, 25);
VALUE(ABX_FIELD_ADDS, 26);
VALUE(ABX_FIELD_RETRY, 27);
VALUE(ABX_FIELD_EXIT_REASON, 28);
VALUE(ABX_FIELD_EXIT_CODE, 29);
VALUE(ABX_FIELD_PRINCIPAL, 30);
VALUE(ABX_FIELD_AGENT_SESSION, 31);
VALUE(ABX_FIELD_DELEGATION, 32);
VALUE(ABX_FIELD_APPROVERS, 33);
VALUE(ABX_FIELD_STEP_UP, 34);
VALUE(ABX_FIELD_APPROVER, 35);
VALUE(ABX_FIELD_EVIDENCE, 36);
VALUE(ABX_FIELD_IDEMPOTENCY_KEY, 37);
VALUE(ABX_FIELD_BOUND, 38);
VALUE(ABX_FIELD_CLASS, 39);
VALUE(ABX_FIELD_HTTP_STATUS, 40);
VALUE(ABX_FIELD_PROBLEM, 41);
VALUE(ABX_CLASS_POLICY, 1);
VALUE(ABX_CLASS_APPROVAL, 2);
VALUE(ABX_CLASS_IDENTITY, 3);
VALUE(ABX_CLASS_VALIDATION, 4);
VALUE(ABX_CLASS_TERMINAL, 5);
VALUE(ABX_CLASS_LIMIT, 6);
VALUE(ABX_SCOPE_ONCE, 0);
VALUE(ABX_SCOPE_COMMAND, 1);
VALUE(ABX_SCOPE_BOX, 2);
VALUE(ABX_SCOPE_UNTIL, 3);

START_TEST(the_layout_is_as_it_was_released)
{
    ck_assert_uint_eq(ABX_VERSION_HEX >> 16, 0); /* the rest is asserted above, when compiling */
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("abi_layout");
    TCase *tcase = tcase_create("layout");

    tcase_add_test(tcase, the_layout_is_as_it_was_released);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
