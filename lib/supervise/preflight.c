/* SPDX-License-Identifier: Apache-2.0
 * What this host can enforce: what the backend found by trying, and then a whole box, opened with
 * its canary and closed again.  Leaves nothing. */
#include "supervise/report.h"

#include "supervise/box.h"
#include "supervise/identity.h"

#include <stdio.h>

static const char *const columns[] = { "feature", "state", "detail", "remedy" };

static bool
add_row(abx_report *report, const char *feature, const char *state, const char *detail,
        const char *remedy)
{
    const char *const texts[] = { feature, state, detail, remedy };

    return report_add(report, texts);
}

static bool
add_features(abx_report *report, const struct capabilities *can)
{
    static const char *const namespaces =
            "allow user namespaces: user.max_user_namespaces, kernel.unprivileged_userns_clone, "
            "kernel.apparmor_restrict_unprivileged_userns, or the container's seccomp profile";
    char landlock[64];
    const struct {
        const char *feature;
        bool has;
        const char *detail, *remedy;
    } rows[] = {
        { "user-namespaces", can->user_namespace, "private views of files, processes and network",
                namespaces },
        { "mounts", can->mount_namespace, "places are read-only, writable or masked by the kernel",
                namespaces },
        { "process-isolation", can->pid_namespace, "processes outside do not exist inside",
                namespaces },
        { "network-isolation", can->net_namespace, "a network of its own, loopback only",
                namespaces },
        { "proc", can->fresh_proc, "a /proc of the box's own",
                "the host's own /proc must not be masked: nest less deeply, or unmask it" },
        { "landlock", can->landlock_abi > 0, landlock,
                "use Linux 5.13 or later with 'landlock' in the lsm= list" },
        { "notification", can->seccomp_notify, "denials with reasons, and calls held for approval",
                "use Linux 5.9 or later; inside another sandbox, one level less" },
        { "masked-reads", can->fuse, "denied reads are events and cost other reads nothing",
                "make /dev/fuse available (mode 0666)" },
        { "carried-init", can->memfd_exec, "the program in the box starts from memory",
                "set init_path to the installed agentbox-init, or vm.memfd_noexec below 2" },
        { "outermost", !can->nested, "no other sandbox is around this process",
                "what another sandbox forbids is missing here: start outside of it" },
        { "box-limits", can->cgroup, "memory and processes are limited for the whole box",
                "delegate a cgroup v2 directory (systemd: Delegate=yes); else the limits hold for "
                "each process" },
    };
    bool ok = true;

    snprintf(landlock, sizeof landlock, "a second wall behind the mounts, ABI %u",
            (unsigned)can->landlock_abi);
    for (size_t i = 0; i < N_ELEMENTS(rows) && ok; i++) {
        ok = add_row(report, rows[i].feature, rows[i].has ? "yes" : "no", rows[i].detail,
                rows[i].has ? "" : rows[i].remedy);
    }
    return ok;
}

/* Opens a box and says how it went. */
static bool
add_box(abx_report *report, abx_context *context, abx_policy *policy)
{
    AUTO(box_unrefp) abx_box *box = NULL;
    AUTO(identity_unrefp) abx_identity *nobody = NULL; /* some policies want one */
    struct fail fail = { 0 };
    struct str detail = { 0 };
    bool ok;

    if (identity_new("preflight", "preflight", NULL, 0, &nobody, &fail) == ABX_OK &&
            box_open(context, policy, nobody, &box, &fail) == ABX_OK) {
        return add_row(report, "box", "yes",
                "a box with this policy opens, and its canary was stopped", "");
    }
    str_printf(&detail, "%s%s%s", fail.text, fail.step[0] == '\0' ? "" : " at ", fail.step);
    ok = !detail.failed && add_row(report, "box", "no", detail.data, fail.remedy);
    str_done(&detail);
    return ok;
}

abx_status
preflight(const struct backend *backend, abx_policy *policy, abx_report **ret_report,
        struct fail *fail)
{
    AUTO(context_unrefp) abx_context *context = NULL;
    AUTO(report_unrefp) abx_report *report = report_new(columns, N_ELEMENTS(columns));
    struct capabilities can = { 0 };
    abx_status r;
    int error;
    bool ok;

    if (report == NULL) {
        return fail_nomem(fail);
    }
    r = context_new(backend, NULL, QUEUE_EVENTS_DEFAULT, &context, fail);
    if (r == ABX_OK && (error = -backend->probe(&can)) != 0) {
        r = fail_set(fail, ABX_ERR_IO, error, "start:probe",
                "what the host can do cannot be found out now");
    }
    if (r == ABX_OK) {
        ok = add_features(report, &can) &&
             add_row(report, "rung", rung_name(can.rung), rung_detail(can.rung), "") &&
             add_box(report, context, policy);
        r = ok ? ABX_OK : fail_nomem(fail);
    }
    if (r == ABX_OK) {
        *ret_report = steal_ptr(&report);
    }
    return r;
}
