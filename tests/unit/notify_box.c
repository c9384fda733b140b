/* SPDX-License-Identifier: Apache-2.0
 * The test's box; see notify_box.h.  The loop runs on the test's own thread. */
#include "unit/notify_box.h"

#include "base/mem.h"
#include "linux/filter/filter.h"
#include "linux/net/sockets.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what boundary.c does in the library ---- */

static struct notify_box *
box_of(struct boundary *boundary)
{
    return (struct notify_box *)(void *)((char *)boundary - offsetof(struct notify_box, boundary));
}

static void
enter_namespace(int32_t pid, const char *name)
{
    char path[64];
    AUTO(closep) int fd = -1;

    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, 0) != 0) {
        _exit(1);
    }
}

int
boundary_guard(struct boundary *boundary, int object)
{
    return 0;
}

int
boundary_detach(struct boundary *boundary, int object)
{
    return 0;
}

int
boundary_bind(struct boundary *boundary, const char *path)
{
    struct notify_box *box = box_of(boundary);
    int status = 0;
    pid_t pid;

    pthread_mutex_lock(&box->lock);
    box->n_bound++;
    pthread_mutex_unlock(&box->lock);
    pid = fork();
    if (pid == 0) {
        struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
        int tree;

        enter_namespace(boundary->init_pid, "user");
        enter_namespace(boundary->init_pid, "mnt");
        tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0 ||
                syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0) {
            _exit(1);
        }
        _exit(0);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -EIO;
}

int
boundary_make_socket(struct boundary *boundary, uint32_t how, int32_t value)
{
    return -ENOSYS;
}

bool
boundary_is_waiting(struct boundary *boundary, int32_t shown_pid)
{
    return false;
}

uint64_t
boundary_only_command(struct boundary *boundary)
{
    return 1;
}

void
boundary_saw(struct boundary *boundary, int32_t pid, uint64_t command)
{
}

uint64_t
boundary_command_of(struct boundary *boundary, int32_t pid)
{
    return 1;
}

void
boundary_program_of(int32_t pid, char *buffer, size_t room)
{
    snprintf(buffer, room, "test");
}

/* ---- the broker ---- */

static abx_verdict
verdict_of(const struct notify_box *box, const char *target)
{
    size_t length = strlen(box->workspace), deepest = 0;
    abx_verdict verdict = ABX_VERDICT_DENY;

    if (strncmp(target, box->workspace, length) != 0) {
        return verdict;
    }
    target += length;
    for (const struct rule_row *rule = box->rules; rule->path != NULL; rule++) {
        size_t n = strlen(rule->path);

        if (n >= deepest && strncmp(target, rule->path, n) == 0 &&
                (target[n] == '/' || target[n] == '\0')) {
            deepest = n;
            verdict = rule->verdict;
        }
    }
    return verdict;
}

static void
tell(struct notify_box *box, const struct act *act, const char *rule)
{
    pthread_mutex_lock(&box->lock);
    if (box->n_told < TOLD_MAX) {
        struct told *told = &box->told[box->n_told++];

        snprintf(told->target, sizeof told->target, "%s", act->target);
        snprintf(told->verb, sizeof told->verb, "%s", act->verb);
        snprintf(told->rule, sizeof told->rule, "%s", rule != NULL ? rule : "");
        told->request = act->request;
        told->is_report = rule != NULL;
    }
    pthread_mutex_unlock(&box->lock);
}

struct answering {
    struct loop_timer timer;
    struct notify_box *box;
    uint64_t ticket;
};

static void
answer_now(void *data)
{
    struct answering *answering = data;
    struct notify_box *box = answering->box;

    if (box->on_ask != NULL) {
        box->on_ask(box);
    }
    if (box->answer != ABX_VERDICT_ASK) {
        notify_answer(&box->boundary, answering->ticket, box->answer);
    }
    free(answering);
}

static void
answer_later(void *data)
{
    struct answering *answering = data;
    uint64_t when = clock_now_ns() + answering->box->ask_delay_ns;

    loop_timer_set(answering->box->boundary.loop, &answering->timer, when, answer_now, answering);
}

static _Thread_local bool is_asked;

bool
notify_box_is_asked(void)
{
    return is_asked;
}

static bool
is_whole(const char *bound)
{
    return bound != NULL && bound[0] == '{' && bound[strlen(bound) - 1] == '}';
}

static void
ask(struct notify_box *box, const struct act *act, uint64_t *ret_ticket)
{
    struct answering *answering = malloc(sizeof *answering);

    pthread_mutex_lock(&box->lock);
    box->n_asked++;
    box->n_unbound += act->request == ABX_REQUEST_PATH && !is_whole(act->bound);
    *ret_ticket = ++box->next_ticket;
    pthread_mutex_unlock(&box->lock);
    *answering = (struct answering){ .box = box, .ticket = *ret_ticket };
    loop_post(box->boundary.loop, box->ask_delay_ns > 0 ? answer_later : answer_now, answering);
}

static abx_verdict
decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    struct notify_box *box = data;
    abx_verdict verdict = verdict_of(box, act->target);

    if (act->quiet) {
        return verdict;
    }
    is_asked = true;
    if (verdict == ABX_VERDICT_DENY && act->content >= 0) {
        char text[8] = "";

        *act->judged = true;
        ck_assert(read(act->content, text, sizeof text - 1) >= 0);
        verdict = strncmp(text, "good", 4) == 0 ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
    }
    if (verdict == ABX_VERDICT_DENY) {
        tell(box, act, NULL);
    } else if (verdict == ABX_VERDICT_ASK) {
        ask(box, act, ret_ticket);
    }
    is_asked = false;
    return verdict;
}

static bool
holds(void *data, const struct subject *subject, const struct act *act, uint64_t by)
{
    return true;
}

static void
withdraw(void *data, uint64_t ticket)
{
    struct notify_box *box = data;

    pthread_mutex_lock(&box->lock);
    box->n_withdrawn++;
    pthread_mutex_unlock(&box->lock);
}

static void
report(void *data, uint32_t type, const struct subject *subject, const struct act *act,
        const char *rule, const char *reason, const char *alternative)
{
    tell(data, act, rule);
}

/* ---- the plan ---- */

static void
add_place(struct notify_box *box, const char *root, const char *name, abx_verdict write,
        bool is_guarded)
{
    struct place *place = vec_add(&box->plan.places);
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s%s", root, name);
    *place = (struct place){
        .path = strdup(path),
        .is_directory = true,
        .read = ABX_VERDICT_ALLOW,
        .write = (uint8_t)write,
        .guarded = is_guarded,
    };
}

static int
compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
on_ended(struct notify_owner *owner)
{
}

void
notify_box_init(struct notify_box *box, const struct rule_row *rules, bool read_patterns)
{
    *box = (struct notify_box){ .workspace = "/tmp/abx-notify-XXXXXX", .rules = rules };
    char path[PATH_MAX];

    atomic_init(&box->owner.command, 1);
    box->owner.ended = on_ended;
    box->uid = getuid();
    box->gid = getgid();
    ck_assert(mkdtemp(box->workspace) != NULL);
    for (const char *const *name = (const char *const[]){ "free", "free2", "git", NULL };
            *name != NULL; name++) {
        snprintf(path, sizeof path, "%s/%s", box->workspace, *name);
        ck_assert(mkdir(path, 0755) == 0);
    }
    box->plan.places = VEC(struct place);
    box->plan.privates = VEC(struct private_place);
    box->plan.guards = VEC(char *);
    add_place(box, "", "/", ABX_VERDICT_DENY, false);
    add_place(box, box->workspace, "", ABX_VERDICT_ALLOW, true);
    add_place(box, box->workspace, "/free", ABX_VERDICT_ALLOW, false);
    add_place(box, box->workspace, "/free2", ABX_VERDICT_ALLOW, false);
    add_place(box, box->workspace, "/git", ABX_VERDICT_ALLOW, true);
    *(struct private_place *)vec_add(&box->plan.privates) =
            (struct private_place){ .path = strdup("/dev"), .kind = PRIVATE_DEV };
    *(struct private_place *)vec_add(&box->plan.privates) =
            (struct private_place){ .path = strdup("/proc"), .kind = PRIVATE_PROC };
    for (const struct rule_row *rule = rules; rule->path != NULL; rule++) {
        if (rule->verdict != ABX_VERDICT_ALLOW) {
            snprintf(path, sizeof path, "%s%s", box->workspace, rule->path);
            *(char **)vec_add(&box->plan.guards) = strdup(path);
        }
    }
    qsort(box->plan.guards.data, box->plan.guards.count, sizeof(char *), compare_text);
    box->plan.read_patterns = read_patterns;
    box->plan.capabilities = (struct capabilities){
        .fresh_proc = true,
        .pid_namespace = true,
        .user_namespace = true,
        .mount_namespace = true,
        .net_namespace = true,
        .seccomp_notify = true,
    };
    pthread_mutex_init(&box->lock, NULL);
    box->broker = (struct broker){
        .data = box, .decide = decide, .holds = holds, .withdraw = withdraw, .report = report
    };
    box->boundary.plan = &box->plan;
    box->boundary.broker = &box->broker;
    box->boundary.root = box->boundary.host_root = -1;
}

void
notify_box_done(struct notify_box *box)
{
    char command[128];

    plan_done(&box->plan);
    snprintf(command, sizeof command, "rm -r -- '%s'", box->workspace);
    ck_assert(strncmp(box->workspace, "/tmp/abx-notify-", 16) == 0);
    ck_assert(system(command) == 0);
}

/* ---- the process in the box ---- */

static void
must(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "box: %s: %s\n", what, strerror(errno));
        _exit(99);
    }
}

static void
write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
    close(fd);
}

static void
bind_writable(const struct notify_box *box, const char *name)
{
    struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
    char path[PATH_MAX];
    int tree;

    snprintf(path, sizeof path, "%s/%s", box->workspace, name);
    tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    must(tree >= 0 &&
                    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) == 0 &&
                    syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0,
            "bind");
}

static void
raise_loopback(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    must(fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0, "loopback");
    close(fd);
}

static void
make_mounts(const struct notify_box *box, uid_t uid, gid_t gid)
{
    struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
    char map[64];

    write_text("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    write_text("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    write_text("/proc/self/gid_map", map);
    raise_loopback();
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private");
    must(syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) == 0,
            "read-only");
    bind_writable(box, "free");
    bind_writable(box, "free2");
}

static void
drop_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };

    must(syscall(SYS_capset, &header, data) == 0, "capset");
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
}

static int
load_filter(const struct notify_box *box)
{
    struct vec filter = VEC(struct sock_filter);
    struct fail fail = { 0 };
    struct sock_fprog program;
    int listener;

    must(filter_build(&box->plan, &filter, &fail) == ABX_OK, fail.text);
    program = (struct sock_fprog){ .len = (unsigned short)filter.count, .filter = filter.data };
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
            SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
    must(listener >= 0, "seccomp");
    vec_done(&filter);
    return listener;
}

union control {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
};

static void
send_fds(int socket, const int fds[2])
{
    union control control = { 0 };
    char text = 'x';
    struct iovec byte = { .iov_base = &text, .iov_len = 1 };
    struct msghdr message = {
        .msg_iov = &byte,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(header), fds, 2 * sizeof(int));
    must(sendmsg(socket, &message, 0) == 1, "sendmsg");
}

static void
receive_fds(int socket, int ret_fds[2])
{
    union control control = { 0 };
    char text;
    struct iovec byte = { .iov_base = &text, .iov_len = 1 };
    struct msghdr message = {
        .msg_iov = &byte,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };

    ck_assert(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
    ck_assert(CMSG_FIRSTHDR(&message) != NULL);
    memcpy(ret_fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
}

static void
live(struct notify_box *box, int socket, int (*fn)(struct notify_box *box))
{
    int fds[2];

    make_mounts(box, box->uid, box->gid);
    must(chdir(box->workspace) == 0, "chdir"); /* anew: through the new mounts */
    umask(022);
    drop_capabilities();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fds[1] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    fds[0] = load_filter(box);
    send_fds(socket, fds);
    close(fds[0]);
    close(fds[1]);
    _exit(fn(box));
}

static void
on_child_ended(void *data, uint32_t events)
{
    loop_stop(data);
}

int
notify_box_run(struct notify_box *box, int (*fn)(struct notify_box *box))
{
    int sockets[2], fds[2], status = 0, pidfd;
    struct loop_source *source;
    pthread_t beside;
    pid_t pid;

    ck_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
    /* Not unshare: a sanitizer's own thread would be in its way. */
    pid = (pid_t)syscall(
            SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0);
    ck_assert(pid >= 0);
    if (pid == 0) {
        live(box, sockets[1], fn);
    }
    close(sockets[1]);
    receive_fds(sockets[0], fds);
    box->boundary.loop = loop_new();
    box->boundary.init_pid = pid;
    box->boundary.root = fds[1];
    box->boundary.host_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    box->boundary.sockets = sockets_new();
    box->notify = notify_new(&box->boundary, &box->owner, fds[0]);
    ck_assert(box->notify != NULL);
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    source = loop_add(box->boundary.loop, pidfd, EPOLLIN, on_child_ended, box->boundary.loop);
    /* Not before: a process that is cloned beside a thread inherits the locks that it holds. */
    ck_assert(box->beside == NULL || pthread_create(&beside, NULL, box->beside, box) == 0);
    loop_run(box->boundary.loop);
    atomic_store(&box->has_ended, true);
    if (box->beside != NULL) {
        pthread_join(beside, NULL);
    }
    loop_remove(source);
    notify_free(box->notify);
    notify_close(&box->boundary);
    sockets_free(box->boundary.sockets);
    ck_assert(waitpid(pid, &status, 0) == pid);
    loop_free(box->boundary.loop);
    close(pidfd);
    close(sockets[0]);
    close(box->boundary.root);
    close(box->boundary.host_root);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- looking ---- */

bool
notify_box_denied(struct notify_box *box, const char *target)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s%s%s", target[0] == '/' ? "" : box->workspace,
            target[0] == '/' ? "" : "/", target);
    for (unsigned int i = 0; i < box->n_told; i++) {
        if (strcmp(box->told[i].target, path) == 0) {
            return true;
        }
    }
    return false;
}

void
notify_box_write(struct notify_box *box, const char *name, const char *text)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/%s", box->workspace, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

bool
notify_box_has(struct notify_box *box, const char *name, const char *text)
{
    char path[PATH_MAX], content[256] = "";
    int fd;

    snprintf(path, sizeof path, "%s/%s", box->workspace, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return text == NULL;
    }
    ck_assert(read(fd, content, sizeof content - 1) >= 0);
    close(fd);
    return text != NULL && strcmp(content, text) == 0;
}
