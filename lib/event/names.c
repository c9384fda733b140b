/* SPDX-License-Identifier: Apache-2.0
 * Owns the words that stand for numbers in events, reports and explanations.  They are a contract:
 * added to, never changed.  Pure. */
#include "event/names.h"

#include "base/mem.h"
#include "event/event.h"

#include <stddef.h>

static const char *
pick(const char *const *names, size_t count, uint32_t value)
{
    return value < count ? names[value] : NULL;
}

const char *
name_of_event(uint32_t type)
{
    static const char *const names[] = {
        [ABX_EVENT_DENIAL] = "denial",
        [ABX_EVENT_APPROVAL] = "approval",
        [ABX_EVENT_CREDENTIAL] = "credential",
        [ABX_EVENT_STARTED] = "started",
        [ABX_EVENT_EXITED] = "exited",
        [ABX_EVENT_DROPPED] = "dropped",
        [ABX_EVENT_LOG] = "log",
        [ABX_EVENT_NOTICE] = "notice",
    };

    static const char *const records[] = { "opened", "spawn", "supply", "closed", "refused" };

    return type >= RECORD_OPENED ? pick(records, N_ELEMENTS(records), type - RECORD_OPENED)
                                 : pick(names, N_ELEMENTS(names), type);
}

const char *
name_of_request(uint32_t request)
{
    static const char *const names[] = {
        [ABX_REQUEST_PATH] = "path",
        [ABX_REQUEST_CONNECT] = "connect",
        [ABX_REQUEST_HTTP] = "http",
        [ABX_REQUEST_EXEC] = "exec",
        [ABX_REQUEST_LISTEN] = "listen",
        [ABX_REQUEST_SOCKET] = "socket",
        [ABX_REQUEST_ACTION] = "action",
        [ABX_REQUEST_CREDENTIAL] = "credential",
        [ABX_REQUEST_SYSCALL] = "syscall",
    };

    return pick(names, N_ELEMENTS(names), request);
}

const char *
name_of_access(uint32_t access)
{
    static const char *const names[] = {
        [ABX_ACCESS_READ] = "read",
        [ABX_ACCESS_WRITE] = "write",
        [ABX_ACCESS_EXEC] = "exec",
    };

    return pick(names, N_ELEMENTS(names), access);
}

const char *
name_of_layer(uint32_t layer)
{
    static const char *const names[] = {
        [ABX_LAYER_FILESYSTEM] = "filesystem",
        [ABX_LAYER_NETWORK] = "network",
        [ABX_LAYER_PROCESS] = "process",
        [ABX_LAYER_IDENTITY] = "identity",
        [ABX_LAYER_ACTION] = "action",
        [ABX_LAYER_APPROVAL] = "approval",
        [ABX_LAYER_TERMINAL] = "terminal",
        [ABX_LAYER_LIMIT] = "limit",
        [ABX_LAYER_SETUP] = "setup",
        [ABX_LAYER_AUDIT] = "audit",
    };

    return pick(names, N_ELEMENTS(names), layer);
}

const char *
name_of_class(uint32_t failure)
{
    static const char *const names[] = {
        [ABX_CLASS_POLICY] = "policy",
        [ABX_CLASS_APPROVAL] = "approval",
        [ABX_CLASS_IDENTITY] = "identity",
        [ABX_CLASS_VALIDATION] = "validation",
        [ABX_CLASS_TERMINAL] = "terminal",
        [ABX_CLASS_LIMIT] = "limit",
    };

    return pick(names, N_ELEMENTS(names), failure);
}

const char *
name_of_retry(uint32_t retry)
{
    static const char *const names[] = {
        [ABX_RETRY_NONE] = "none",
        [ABX_RETRY_HELD] = "held",
        [ABX_RETRY_RERUN] = "rerun",
    };

    return pick(names, N_ELEMENTS(names), retry);
}

const char *
name_of_exit(uint32_t reason)
{
    static const char *const names[] = {
        [ABX_EXIT_CODE] = "code",
        [ABX_EXIT_SIGNAL] = "signal",
        [ABX_EXIT_TIMEOUT] = "timeout",
        [ABX_EXIT_LIMIT] = "limit",
        [ABX_EXIT_KILLED] = "killed",
    };

    return pick(names, N_ELEMENTS(names), reason);
}
