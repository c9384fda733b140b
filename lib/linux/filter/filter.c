/* SPDX-License-Identifier: Apache-2.0
 * Owns the seccomp program of the commands: turns the table of calls.c into libseccomp's rules,
 * keeps what it built (it depends on a few facts of the plan only).  The one place that includes
 * seccomp.h. Any thread; one lock around the cache and libseccomp's own state. */
#include "linux/filter/filter.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "linux/filter/calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <pthread.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALL_BITS 0xffffffffu

/* Where the rules go: to libseccomp, or as text to a reader. */
struct sink {
    scmp_filter_ctx context;
    struct str *text;
    uint32_t refusal; /* action of what is decided or refused */
    int error; /* the first, negative */
};

/* argument `index` & mask == value, or a comparison of all 64 bits with `value`. */
struct condition {
    uint32_t index;
    enum scmp_compare compare;
    uint32_t mask, value;
};

static const char *
action_name(const struct call_rule *rule, const struct sink *sink)
{
    if (rule->class == CLASS_ABSENT) {
        return "ENOSYS";
    }
    return sink->refusal == SCMP_ACT_NOTIFY ? "notify" : "EPERM";
}

static void
describe(struct sink *sink, const struct call_rule *rule, const struct condition *conditions,
        unsigned int n)
{
    str_printf(sink->text, "%s: %s", rule->name, action_name(rule, sink));
    for (unsigned int i = 0; i < n; i++) {
        const struct condition *c = &conditions[i];

        str_printf(sink->text, " %s arg%u", i == 0 ? "if" : "and", c->index);
        if (c->compare == SCMP_CMP_MASKED_EQ) {
            str_printf(sink->text, " & %#x == %#x", c->mask, c->value);
        } else {
            str_printf(sink->text, " %s %#x",
                    c->compare == SCMP_CMP_GT   ? ">"
                    : c->compare == SCMP_CMP_NE ? "!="
                                                : "==",
                    c->value);
        }
    }
    str_add(sink->text, "\n");
}

static void
emit(struct sink *sink, const struct call_rule *rule, const struct condition *conditions,
        unsigned int n)
{
    struct scmp_arg_cmp compare[2];
    uint32_t action = rule->class == CLASS_ABSENT ? SCMP_ACT_ERRNO(ENOSYS) : sink->refusal;
    int r;

    if (sink->text != NULL) {
        describe(sink, rule, conditions, n);
        return;
    }
    for (unsigned int i = 0; i < n; i++) {
        const struct condition *c = &conditions[i];

        compare[i] = (struct scmp_arg_cmp){ .arg = c->index, .op = c->compare };
        if (c->compare == SCMP_CMP_MASKED_EQ) {
            compare[i].datum_a = c->mask;
            compare[i].datum_b = c->value;
        } else {
            compare[i].datum_a = c->value;
        }
    }
    r = seccomp_rule_add_array(sink->context, action, rule->number, n, compare);
    if (r < 0 && sink->error == 0) {
        sink->error = r;
    }
}

/* Emits the rule for every value of the last condition's argument (below `mask`) that is not in the
 * list, as few comparisons of leading bits: a filter can only say what it matches, not what not. */
static void
emit_others(struct sink *sink, const struct call_rule *rule, struct condition conditions[2],
        unsigned int n, const uint32_t *values, size_t n_values)
{
    struct condition *last = &conditions[n - 1];
    const uint32_t all = last->mask;

    for (uint32_t bit = 1; (bit & all) != 0; bit <<= 1) {
        const uint32_t mask = all & ~(bit - 1);

        /* The prefix that differs from a value first at `bit`, unless another value has it. */
        for (size_t i = 0; i < n_values; i++) {
            const uint32_t prefix = (values[i] ^ bit) & mask;
            bool taken = false;

            for (size_t k = 0; k < n_values; k++) {
                taken |= (values[k] & mask) == prefix;
                taken |= k < i && ((values[k] ^ bit) & mask) == prefix;
            }
            if (!taken) {
                last->mask = mask;
                last->value = prefix;
                emit(sink, rule, conditions, n);
            }
        }
    }
    last->mask = all;
}

static struct condition
equals(uint32_t index, uint32_t value)
{
    return (struct condition){
        .index = index, .compare = SCMP_CMP_MASKED_EQ, .mask = ALL_BITS, .value = value
    };
}

/* The same for all bits, in fewer comparisons: whatever has bits set above those of the list is
 * meant too. */
static void
emit_all_others(struct sink *sink, const struct call_rule *rule, struct condition conditions[2],
        unsigned int n, const uint32_t *values, size_t n_values)
{
    struct condition *last = &conditions[n - 1];
    uint32_t bits = 0;

    for (size_t i = 0; i < n_values; i++) {
        bits |= values[i];
    }
    while ((bits & (bits + 1)) != 0) { /* to the next number that is all ones */
        bits |= bits >> 1;
    }
    last->compare = SCMP_CMP_GT;
    last->value = bits;
    emit(sink, rule, conditions, n);
    last->compare = SCMP_CMP_MASKED_EQ;
    last->mask = bits;
    emit_others(sink, rule, conditions, n, values, n_values);
}

/* Everything but the kinds of sockets in the table, for boxes without a broker.  What has bits set
 * above the int of the family or protocol is refused too. */
static void
emit_sockets(struct sink *sink, const struct call_rule *rule)
{
    const bool pair = rule->number == SYS_socketpair;
    struct condition conditions[2];
    uint32_t families[8];
    size_t n_families = 0;

    for (size_t i = 0; i < n_socket_kinds; i++) {
        const struct socket_kind *kind = &socket_kinds[i];

        if (pair && !kind->for_pairs) {
            continue;
        }
        families[n_families++] = kind->family;
        conditions[0] = equals(0, kind->family);
        if (!kind->any_type) {
            conditions[1] = (struct condition){
                .index = 1, .compare = SCMP_CMP_MASKED_EQ, .mask = SOCKET_TYPE_BITS
            };
            emit_others(sink, rule, conditions, 2, kind->types, N_ELEMENTS(kind->types));
        }
        conditions[1] = (struct condition){ .index = 2 };
        emit_all_others(sink, rule, conditions, 2, kind->protocols, N_ELEMENTS(kind->protocols));
    }
    conditions[0] = (struct condition){ .index = 0 };
    emit_all_others(sink, rule, conditions, 1, families, n_families);
}

static void
emit_rule(struct sink *sink, const struct call_rule *rule)
{
    struct condition condition = { .index = rule->argument };

    switch (rule->test) {
    case TEST_NONE:
        emit(sink, rule, NULL, 0);
        break;
    case TEST_ANY_BIT:
        condition.compare = SCMP_CMP_MASKED_EQ;
        for (uint32_t bit = 1; bit != 0; bit <<= 1) {
            if ((rule->value & bit) != 0) {
                condition.mask = bit;
                condition.value = bit;
                emit(sink, rule, &condition, 1);
            }
        }
        break;
    case TEST_EQUAL:
        condition = equals(rule->argument, rule->value);
        emit(sink, rule, &condition, 1);
        break;
    case TEST_OTHER:
        condition.value = rule->value;
        condition.compare = SCMP_CMP_NE;
        emit(sink, rule, &condition, 1);
        break;
    case TEST_POINTER:
        condition.compare = SCMP_CMP_NE;
        emit(sink, rule, &condition, 1);
        break;
    case TEST_SOCKET:
        /* A broker looks at the numbers itself: they are no pointers, so nobody can change them.
         * The rules would be a third of the program, which the kernel compiles for each command. */
        if (sink->refusal == SCMP_ACT_NOTIFY) {
            emit(sink, rule, NULL, 0);
        } else {
            emit_sockets(sink, rule);
        }
        break;
    }
}

/* Whether another row of the same call counts whatever the arguments are: then this one adds
 * nothing. */
static bool
is_covered(const struct call_rule *rule, const struct plan *plan)
{
    for (size_t i = 0; rule->test != TEST_NONE && i < n_call_rules; i++) {
        if (call_rules[i].number == rule->number && call_rules[i].test == TEST_NONE &&
                call_rule_applies(&call_rules[i], plan)) {
            return true;
        }
    }
    return false;
}

static void
emit_all(struct sink *sink, const struct plan *plan)
{
    sink->refusal = plan->capabilities.seccomp_notify ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM);
    for (size_t i = 0; i < n_call_rules; i++) {
        if (call_rule_applies(&call_rules[i], plan) && !is_covered(&call_rules[i], plan)) {
            emit_rule(sink, &call_rules[i]);
        }
    }
}

/* libseccomp 2.5 exports to descriptors only. */
static int export(scmp_filter_ctx context, void **ret_program, size_t *ret_size)
{
    AUTO(closep) int fd = memfd_create("agentbox-filter", MFD_CLOEXEC);
    AUTO(freep) char *bytes = NULL;
    struct stat status;
    int r;

    if (fd < 0 || !file_may_have(BPF_MAXINSNS * sizeof(struct sock_filter))) {
        return -errno;
    }
    r = seccomp_export_bpf(context, fd);
    if (r < 0) {
        return r;
    }
    if (fstat(fd, &status) < 0) {
        return -errno;
    }
    bytes = malloc((size_t)status.st_size);
    if (bytes == NULL) {
        return -ENOMEM;
    }
    if (pread(fd, bytes, (size_t)status.st_size, 0) != status.st_size) {
        return -EIO;
    }
    *ret_program = steal_ptr(&bytes);
    *ret_size = (size_t)status.st_size;
    return 0;
}

static int
make(const struct plan *plan, void **ret_program, size_t *ret_size)
{
    struct sink sink = { .context = seccomp_init(SCMP_ACT_ALLOW) };

    if (sink.context == NULL) {
        return -ENOMEM;
    }
    sink.error = seccomp_attr_set(sink.context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (sink.error == 0) {
        sink.error = seccomp_attr_set(sink.context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    }
    emit_all(&sink, plan);
    if (sink.error == 0) {
        sink.error = export(sink.context, ret_program, ret_size);
    }
    seccomp_release(sink.context);
    return sink.error;
}

/* ---- the cache: building takes milliseconds ---- */
struct cached {
    void *program; /* struct sock_filter[]; never freed, there are few */
    size_t size;
};
static struct cached cache[64];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

/* All that call_rule_applies and emit_all look at. */
static size_t
cache_index(const struct plan *plan)
{
    bool guarded = plan->guards.count > 0 || plan->guard_patterns;

    return (plan->capabilities.seccomp_notify ? 1u : 0u) | (guarded ? 2u : 0u) |
           (plan->read_patterns ? 4u : 0u) | (plan->decide_exec ? 8u : 0u) |
           (plan_shares_network(plan) ? 0u : 16u) | (plan->capabilities.pid_namespace ? 32u : 0u);
}

static int
get(const struct plan *plan, struct cached *ret_cached)
{
    struct cached *entry = &cache[cache_index(plan)];
    int r = 0;

    pthread_mutex_lock(&cache_lock);
    if (entry->program == NULL) {
        r = make(plan, &entry->program, &entry->size);
    }
    *ret_cached = *entry;
    pthread_mutex_unlock(&cache_lock);
    return r;
}

abx_status
filter_build(const struct plan *plan, struct vec *ret_filter, struct fail *fail)
{
    struct cached cached = { 0 };
    void *copy;
    int r = get(plan, &cached);

    if (r < 0) {
        fail_set(fail, r == -ENOMEM ? ABX_ERR_NOMEM : ABX_ERR_SETUP, -r, "seccomp:build",
                "the system call filter cannot be built");
        if (r == -EFBIG) {
            fail_remedy(fail, "let this process make files of 1 MiB (RLIMIT_FSIZE, ulimit -f)");
        }
        return fail->status;
    }
    copy = malloc(cached.size);
    if (copy == NULL) {
        return fail_nomem(fail);
    }
    memcpy(copy, cached.program, cached.size);
    *ret_filter = VEC(struct sock_filter);
    ret_filter->data = copy;
    ret_filter->count = cached.size / sizeof(struct sock_filter);
    ret_filter->room = ret_filter->count;
    return ABX_OK;
}

char *
filter_dump(const struct plan *plan)
{
    struct str text = { 0 };
    struct sink sink = { .text = &text };

    emit_all(&sink, plan);
    return str_steal(&text, NULL);
}
