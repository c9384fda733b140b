/* SPDX-License-Identifier: Apache-2.0
 * The mask served to a process in namespaces of its own, by a loop and a broker made here: each
 * attempt on a covered place has its answer and its event. */
#include "base/mem.h"
#include "linux/mask/mask.h"

#include "unit/main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define THREADS 64
#define CROWD 200 /* more than workers do and wait for */
#define ROUNDS 50

/* ---- what boundary.c gives ---- */

static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static int32_t seen_pid; /* the lock's */

uint64_t
boundary_command_of(struct boundary *boundary, int32_t pid)
{
    pthread_mutex_lock(&event_lock);
    seen_pid = pid;
    pthread_mutex_unlock(&event_lock);
    return 7;
}

void
boundary_saw(struct boundary *boundary, int32_t pid, uint64_t command)
{
}

/* ---- the box ---- */

enum act_kind {
    ACT_OPEN,
    ACT_READ,
    ACT_LIST,
    ACT_STAT,
    ACT_ACCESS,
    ACT_LINK,
    ACT_CREATE,
    ACT_HAMMER,
    ACT_CROWD,
    ACT_ENTER,
    ACT_ALARM
};
struct order {
    enum act_kind kind;
    char path[256];
};
struct answer {
    int error;
    char text[512];
};

static char root[128]; /* of the files of this test */
static int control = -1; /* to the box */
static pid_t box;

static void
in_root(char *buffer, const char *name)
{
    snprintf(buffer, 256, "%s/%s", root, name);
}

static void
act_open(const char *path, struct answer *answer)
{
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, answer->text, sizeof answer->text - 1);

    answer->error = got < 0 ? errno : 0;
    answer->text[got < 0 ? 0 : got] = '\0';
    close_fd(fd);
}

/* How much one read gives that is as it was written. */
static void
act_read(const char *path, struct answer *answer)
{
    static char content[1u << 20];
    int fd = open(path, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof content);
    size_t right = 0;

    answer->error = got < 0 ? errno : 0;
    for (ssize_t i = 0; i < got; i++) {
        right += content[i] == 'x';
    }
    snprintf(answer->text, sizeof answer->text, "%zu", right);
    close_fd(fd);
}

static int
name_compare(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void
act_list(const char *path, struct answer *answer)
{
    struct dirent **names = NULL;
    int n = scandir(path, &names, NULL, name_compare);
    size_t length = 0;

    answer->error = n < 0 ? errno : 0;
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.') {
            length += (size_t)snprintf(
                    answer->text + length, sizeof answer->text - length, "%s ", names[i]->d_name);
        }
    }
}

static void *
hammer(void *path)
{
    intptr_t wrong = 0;
    char name[300];

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "%s/n%d", (char *)path, i);
        if (open(name, O_RDONLY) >= 0 || errno != EACCES) {
            wrong++;
        }
    }
    return (void *)wrong;
}

static void *
open_once(void *path)
{
    int fd = open(path, O_RDONLY);

    close_fd(fd);
    return (void *)(intptr_t)(fd < 0 ? 1 : 0);
}

/* So many threads at once; how often it was not as it should be. */
static void
act_together(int n, void *(*fn)(void *path), char *path, struct answer *answer)
{
    pthread_t threads[CROWD];

    for (int i = 0; i < n; i++) {
        pthread_create(&threads[i], NULL, fn, path);
    }
    for (int i = 0; i < n; i++) {
        void *wrong = NULL;

        pthread_join(threads[i], &wrong);
        answer->error += (int)(intptr_t)wrong;
    }
}

static void
on_alarm(int number)
{
}

/* Opens, with a handled signal on the way. */
static void
act_alarm(const char *path, struct answer *answer)
{
    struct sigaction action = { .sa_handler = on_alarm };
    struct itimerval timer = { .it_value.tv_usec = 100000 };

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    answer->error = open(path, O_RDONLY) < 0 ? errno : 0;
}

static void
obey(struct order *order, struct answer *answer)
{
    struct stat st;
    ssize_t length;

    switch (order->kind) {
    case ACT_OPEN:
        act_open(order->path, answer);
        break;
    case ACT_READ:
        act_read(order->path, answer);
        break;
    case ACT_LIST:
        act_list(order->path, answer);
        break;
    case ACT_STAT:
        answer->error = lstat(order->path, &st) < 0 ? errno : 0;
        snprintf(answer->text, sizeof answer->text, "%s %d",
                S_ISDIR(st.st_mode)   ? "dir"
                : S_ISLNK(st.st_mode) ? "link"
                                      : "file",
                (int)st.st_size);
        break;
    case ACT_ACCESS:
        answer->error = access(order->path, R_OK) < 0 ? errno : 0;
        break;
    case ACT_LINK:
        length = readlink(order->path, answer->text, sizeof answer->text - 1);
        answer->error = length < 0 ? errno : 0;
        break;
    case ACT_CREATE:
        answer->error = open(order->path, O_CREAT | O_WRONLY, 0600) < 0 ? errno : 0;
        break;
    case ACT_HAMMER:
        act_together(THREADS, hammer, order->path, answer);
        break;
    case ACT_CROWD:
        act_together(CROWD, open_once, order->path, answer);
        break;
    case ACT_ALARM:
        act_alarm(order->path, answer);
        break;
    case ACT_ENTER:
        answer->error = chdir(order->path) < 0 ? errno : 0;
        (void)!chdir("/");
        break;
    }
}

static void
send_fd(int socket, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } space = { 0 };
    char byte = 0;
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    (void)!sendmsg(socket, &message, 0);
}

static int
receive_fd(int socket)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } space = { 0 };
    char byte = 0;
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space
    };
    int fd = -1;

    ck_assert_int_eq(recvmsg(socket, &message, MSG_CMSG_CLOEXEC), 1);
    ck_assert(CMSG_FIRSTHDR(&message) != NULL);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

static void
write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        _exit(90);
    }
    close(fd);
}

static void
must(int result, int code)
{
    if (result < 0) {
        fprintf(stderr, "box: step %d: %s\n", code, strerror(errno));
        _exit(code);
    }
}

/* What init does with the mask, in short.  `entries`: pairs of entry and place, NULL-terminated. */
static void
cover(int socket, char *const *entries)
{
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    char options[128], mounted[256], from[512], place[256], hold[256];

    must(fuse, 91);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
            fuse, getuid(), getgid());
    in_root(mounted, "mnt");
    in_root(hold, "hold");
    in_root(place, "def/in/ok");
    must(mount(place, hold, NULL, MS_BIND, NULL), 92);
    must(mount("mask", mounted, "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, options), 93);
    send_fd(socket, fuse);
    close(fuse);
    for (; entries[0] != NULL; entries += 2) {
        snprintf(from, sizeof from, "%s/%s", mounted, entries[0]);
        must(mount(from, entries[1], NULL, MS_BIND, NULL), 94);
    }
    must(mount(hold, place, NULL, MS_BIND, NULL), 95);
    must(umount2(mounted, MNT_DETACH), 96);
}

static void
run_box(int socket, char *const *entries, uid_t uid, gid_t gid)
{
    char map[64];
    struct order order;

    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    write_file("/proc/self/gid_map", map);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "mask-box");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 97);
    cover(socket, entries);
    while (recv(socket, &order, sizeof order, 0) == sizeof order) {
        struct answer answer = { 0 };

        obey(&order, &answer);
        (void)!send(socket, &answer, sizeof answer, 0);
    }
    _exit(0);
}

/* ---- the supervisor's side ---- */

static struct loop *loop;
static pthread_t loop_thread;
static struct boundary boundary;
static struct plan plan;
static pthread_cond_t event_came = PTHREAD_COND_INITIALIZER;
static char events[EVENTS_MAX][400];
static size_t n_events, n_taken, n_decided, n_withdrawn;

static void
note(const char *kind, const struct act *act)
{
    size_t length = strlen(root);

    if (n_events < EVENTS_MAX) {
        snprintf(events[n_events++], sizeof events[0], "%s %s %s", kind, act->verb,
                strncmp(act->target, root, length) == 0 ? act->target + length : act->target);
    }
    pthread_cond_signal(&event_came);
}

static abx_verdict
fake_decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    bool asked = strstr(act->target, "/ask") != NULL && strstr(act->target, "/ask/no") == NULL;

    if (act->quiet) {
        return asked ? ABX_VERDICT_ASK : ABX_VERDICT_DENY;
    }
    pthread_mutex_lock(&event_lock);
    note(asked ? "ask" : "deny", act);
    *ret_ticket = asked ? 1 : 0;
    n_decided++;
    pthread_mutex_unlock(&event_lock);
    return asked ? ABX_VERDICT_ASK : ABX_VERDICT_DENY;
}

static bool
holds(void *data, const struct subject *subject, const struct act *act, uint64_t by)
{
    return true;
}

static void
fake_withdraw(void *data, uint64_t ticket)
{
    pthread_mutex_lock(&event_lock);
    n_withdrawn++;
    pthread_cond_signal(&event_came);
    pthread_mutex_unlock(&event_lock);
}

static void
fake_report(void *data, uint32_t type, const struct subject *subject, const struct act *act,
        const char *rule, const char *reason, const char *alternative)
{
    pthread_mutex_lock(&event_lock);
    note(rule, act);
    pthread_mutex_unlock(&event_lock);
}

static const struct broker broker = {
    .decide = fake_decide, .holds = holds, .withdraw = fake_withdraw, .report = fake_report
};

/* The next event, "" if there is none and `wait` is not set. */
static const char *
next_event(bool wait)
{
    const char *event = "";

    pthread_mutex_lock(&event_lock);
    while (wait && n_taken == n_events) {
        pthread_cond_wait(&event_came, &event_lock);
    }
    if (n_taken < n_events) {
        event = events[n_taken++];
    }
    pthread_mutex_unlock(&event_lock);
    return event;
}

static void *
run_loop(void *data)
{
    loop_run(loop);
    return NULL;
}

static void
add_place(const char *name, bool directory, abx_verdict read, bool by_default)
{
    struct place *place = vec_add(&plan.places);
    char path[256];

    in_root(path, name);
    *place = (struct place){ .path = strdup(name[0] == '/' ? name : path),
        .is_directory = directory,
        .read = (uint8_t)read,
        .by_default = by_default };
}

static void
make_files(void)
{
    static const char *const directories[] = { "mnt", "hold", "sec", "ask", "ask/no", "ask/sub",
        "def", "def/in", "def/in/ok", "def/other", "def/other/deep", "def/rule" };
    static const char *const files[] = { "sec/id", "one", "ask/a", "ask/no/x", "ask/sub/b",
        "def/in/ok/f", "def/in/hidden", "def/other/deep/f", "token" };
    char path[256];

    snprintf(root, sizeof root, "/tmp/agentbox-mask-XXXXXX");
    ck_assert(mkdtemp(root) != NULL);
    for (size_t i = 0; i < N_ELEMENTS(directories); i++) {
        in_root(path, directories[i]);
        ck_assert_int_eq(mkdir(path, 0755), 0);
    }
    for (size_t i = 0; i < N_ELEMENTS(files); i++) {
        in_root(path, files[i]);
        write_file(path, files[i]);
    }
    in_root(path, "ask/link");
    ck_assert_int_eq(symlink("a", path), 0);
}

static void
make_plan(void)
{
    char *decoy = NULL;

    plan = (struct plan){ .root = ROOT_HOST,
        .mask = true,
        .places = VEC(struct place),
        .privates = VEC(struct private_place),
        .links = VEC(struct plan_link),
        .inputs = VEC(struct plan_input),
        .decoys = VEC(char *) };
    add_place("/", true, ABX_VERDICT_ALLOW, false);
    add_place("ask", true, ABX_VERDICT_ASK, false);
    add_place("ask/no", true, ABX_VERDICT_DENY, false);
    add_place("def", true, ABX_VERDICT_DENY, true);
    add_place("def/in/ok", true, ABX_VERDICT_ALLOW, false);
    add_place("def/rule", true, ABX_VERDICT_DENY, false);
    add_place("one", false, ABX_VERDICT_DENY, false);
    add_place("sec", true, ABX_VERDICT_DENY, false);
    add_place("token", false, ABX_VERDICT_DENY, false);
    ck_assert_int_ge(asprintf(&decoy, "%s/token", root), 0);
    *(char **)vec_add(&plan.decoys) = decoy;
}

static void
start_box(void)
{
    char *entries[2 * 16 + 2] = { NULL };
    size_t n = 0;
    int pair[2];
    uid_t uid = getuid();
    gid_t gid = getgid();

    for (size_t i = 0; i < plan.places.count; i++) {
        char entry[MASK_ENTRY_ROOM];

        if (mask_entry(&plan, i, entry)) {
            entries[n++] = strdup(entry);
            entries[n++] = vec_at(&plan.places, struct place, i)->path;
        }
    }
    ck_assert_uint_eq(n, 10);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    box = (pid_t)syscall(
            SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    ck_assert_int_ge(box, 0);
    if (box == 0) {
        run_box(pair[1], entries, uid, gid);
    }
    close(pair[1]);
    for (size_t i = 0; i < n; i += 2) {
        free(entries[i]);
    }
    control = pair[0];
}

static void
attach(void *data)
{
    struct fail fail = { 0 };

    ck_assert_int_eq(mask_attach(boundary.mask, *(int *)data, &fail), ABX_OK);
}

static void
set_up(void)
{
    struct fail fail = { 0 };
    int fuse;

    make_files();
    make_plan();
    start_box();
    fuse = receive_fd(control);
    loop = loop_new();
    boundary = (struct boundary){ .plan = &plan,
        .loop = loop,
        .mask_loop = loop,
        .broker = &broker,
        .root = -1,
        .host_root = open("/", O_PATH | O_CLOEXEC) };
    boundary.init_pid = box;
    boundary.mask = mask_new(&boundary, &fail);
    ck_assert_msg(boundary.mask != NULL, "%s", fail.text);
    pthread_create(&loop_thread, NULL, run_loop, NULL);
    loop_call(loop, attach, &fuse);
}

static void
detach(void *data)
{
    mask_free(boundary.mask);
    boundary.mask = NULL;
}

static void
remove_files(void)
{
    static const char *const names[] = { "ask/no/x", "ask/sub/b", "ask/a", "ask/link", "ask/no",
        "ask/sub", "ask", "def/in/ok/f", "def/in/hidden", "def/in/ok", "def/in", "def/other/deep/f",
        "def/other/deep", "def/other", "def/rule", "def", "hold", "mnt", "one", "sec/id", "sec",
        "token", "" };
    char path[256];

    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        in_root(path, names[i]);
        ck_assert_msg(remove(path) == 0 || strcmp(names[i], "ask/a") == 0, "%s", path);
    }
}

static void
tear_down(void)
{
    loop_call(loop, detach, NULL);
    loop_stop(loop);
    pthread_join(loop_thread, NULL);
    loop_free(loop);
    close(control);
    kill(box, SIGKILL);
    waitpid(box, NULL, 0);
    for (size_t i = 0; i < plan.places.count; i++) {
        free(vec_at(&plan.places, struct place, i)->path);
    }
    free(*vec_at(&plan.decoys, char *, 0));
    vec_done(&plan.places);
    vec_done(&plan.decoys);
    close(boundary.host_root);
    remove_files();
}

static void
order(enum act_kind kind, const char *name)
{
    struct order sent = { .kind = kind };

    in_root(sent.path, name);
    ck_assert_int_eq(send(control, &sent, sizeof sent, 0), sizeof sent);
}

static struct answer
answer_of(void)
{
    struct answer answer = { 0 };

    ck_assert_int_eq(recv(control, &answer, sizeof answer, 0), sizeof answer);
    return answer;
}

/* ---- tests ---- */

static const struct act_case {
    enum act_kind kind;
    const char *name;
    int error;
    const char *text, *event;
} act_cases[] = {
    { ACT_OPEN, "sec/id", EACCES, "", "deny lookup /sec/id" },
    { ACT_OPEN, "sec/none", EACCES, "", "deny lookup /sec/none" },
    { ACT_STAT, "sec/id", EACCES, NULL, "deny lookup /sec/id" },
    { ACT_CREATE, "sec/new", EACCES, "", "deny lookup /sec/new" },
    { ACT_LIST, "sec", EACCES, "", "deny list /sec" },
    { ACT_ENTER, "sec", EACCES, "", "deny access /sec" },
    { ACT_STAT, "sec", 0, "dir 0", "" },
    { ACT_STAT, "one", 0, "file 0", "" },
    { ACT_OPEN, "one", EACCES, "", "deny open /one" },
    { ACT_ACCESS, "one", EACCES, "", "deny access /one" },
    { ACT_LIST, "def", 0, "in ", "" },
    { ACT_LIST, "def/in", 0, "ok ", "" },
    { ACT_OPEN, "def/in/ok/f", 0, "def/in/ok/f", "" },
    { ACT_ENTER, "def/in", 0, "", "" },
    { ACT_OPEN, "def/none", ENOENT, "", "" },
    { ACT_OPEN, "def/in/none", ENOENT, "", "" },
    { ACT_OPEN, "def/in/hidden", EACCES, "", "deny lookup /def/in/hidden" },
    { ACT_STAT, "def/other", 0, "dir 0", "" },
    { ACT_ENTER, "def/other/deep", 0, "", "" },
    { ACT_LIST, "def/other", EACCES, "", "deny list /def/other" },
    { ACT_LIST, "def/other/deep", EACCES, "", "deny list /def/other/deep" },
    { ACT_OPEN, "def/other/deep/f", EACCES, "", "deny lookup /def/other/deep/f" },
    { ACT_OPEN, "def/other/deep/none", ENOENT, "", "" },
    { ACT_STAT, "def/rule", EACCES, NULL, "deny lookup /def/rule" },
    { ACT_OPEN, "def/rule/none", EACCES, "", "deny lookup /def/rule" },
    { ACT_STAT, "ask/a", 0, "file 5", "" },
    { ACT_STAT, "ask/link", 0, "link 1", "" },
    { ACT_LINK, "ask/link", 0, "a", "" },
    { ACT_STAT, "ask/sub/b", 0, "file 9", "" },
    { ACT_STAT, "ask/none", ENOENT, NULL, "" },
    { ACT_ACCESS, "ask/a", 0, "", "" },
    { ACT_OPEN, "ask/no/x", EACCES, "", "deny lookup /ask/no/x" },
    { ACT_OPEN, "token", 0, NULL, "decoy open /token" },
};

START_TEST(each_attempt_has_its_answer_and_its_event)
{
    for (size_t i = 0; i < N_ELEMENTS(act_cases); i++) {
        const struct act_case *c = &act_cases[i];
        struct answer answer;
        const char *event;

        order(c->kind, c->name);
        answer = answer_of();
        event = next_event(false);
        ck_assert_msg(answer.error == c->error, "%zu %s: %s", i, c->name, strerror(answer.error));
        ck_assert_msg(c->text == NULL || strcmp(answer.text, c->text) == 0, "%zu %s: '%s'", i,
                c->name, answer.text);
        ck_assert_msg(strcmp(event, c->event) == 0, "%zu %s: event '%s'", i, c->name, event);
        event = next_event(false);
        ck_assert_msg(event[0] == '\0', "%s: second event %s", c->name, event);
    }
}
END_TEST

START_TEST(the_process_is_named_as_the_host_sees_it)
{
    char path[64], name[64] = "";
    int fd;

    order(ACT_OPEN, "one");
    ck_assert_int_eq(answer_of().error, EACCES);
    pthread_mutex_lock(&event_lock);
    ck_assert_int_eq(seen_pid, boundary.init_pid);
    pthread_mutex_unlock(&event_lock);
    snprintf(path, sizeof path, "/proc/%d/comm", seen_pid);
    fd = open(path, O_RDONLY);
    ck_assert_int_gt((int)read(fd, name, sizeof name - 1), 0);
    close(fd);
    ck_assert_str_eq(name, "mask-box\n");
}
END_TEST

struct verdict_call {
    uint64_t ticket;
    abx_verdict verdict;
};

static void
post_answer(void *data)
{
    const struct verdict_call *call = data;

    mask_answer(boundary.mask, call->ticket, call->verdict);
}

static void
give(abx_verdict verdict)
{
    loop_call(loop, post_answer, &(struct verdict_call){ 1, verdict });
}

START_TEST(a_held_open_goes_on_with_the_content_after_a_yes)
{
    order(ACT_OPEN, "ask/link");
    ck_assert_str_eq(next_event(true), "ask open /ask/a");
    give(ABX_VERDICT_ALLOW);
    ck_assert_str_eq(answer_of().text, "ask/a");
    order(ACT_OPEN, "ask/a");
    ck_assert_str_eq(next_event(true), "ask open /ask/a");
    give(ABX_VERDICT_DENY);
    ck_assert_int_eq(answer_of().error, EACCES);
}
END_TEST

START_TEST(a_held_listing_goes_on_after_a_yes)
{
    order(ACT_LIST, "ask");
    ck_assert_str_eq(next_event(true), "ask list /ask");
    give(ABX_VERDICT_ALLOW);
    ck_assert_str_eq(answer_of().text, "a link no sub ");
}
END_TEST

/* A file of which the host's memory has the first page only, on a file system that has a disk. */
static void
write_half_cached(const char *name, size_t pages)
{
    char page[4096];
    char path[256], first[sizeof page];
    int fd;

    memset(page, 'x', sizeof page);
    in_root(path, name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    for (size_t i = 0; i < pages; i++) {
        ck_assert_int_eq(pwrite(fd, page, sizeof page, (off_t)(i * sizeof page)), sizeof page);
    }
    ck_assert_int_eq(fsync(fd), 0);
    ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
    ck_assert_int_eq(pread(fd, first, sizeof first, 0), sizeof first);
    close(fd);
}

START_TEST(a_file_is_read_to_its_end_whatever_the_host_has_of_it_in_memory)
{
    write_half_cached("ask/a", 64);
    order(ACT_READ, "ask/a");
    ck_assert_str_eq(next_event(true), "ask open /ask/a");
    give(ABX_VERDICT_ALLOW);
    ck_assert_str_eq(answer_of().text, "262144");
}
END_TEST

START_TEST(what_was_asked_about_is_what_is_opened)
{
    char path[256], other[256];

    order(ACT_OPEN, "ask/a");
    ck_assert_str_eq(next_event(true), "ask open /ask/a");
    in_root(path, "ask/a");
    in_root(other, "sec/id");
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(symlink(other, path), 0);
    give(ABX_VERDICT_ALLOW);
    ck_assert_str_eq(answer_of().text, "ask/a");
}
END_TEST

START_TEST(a_killed_process_withdraws_its_question)
{
    order(ACT_OPEN, "ask/a");
    ck_assert_str_eq(next_event(true), "ask open /ask/a");
    kill(boundary.init_pid, SIGKILL);
    pthread_mutex_lock(&event_lock);
    while (n_withdrawn == 0) {
        pthread_cond_wait(&event_came, &event_lock);
    }
    pthread_mutex_unlock(&event_lock);
}
END_TEST

START_TEST(a_signal_ends_a_held_call)
{
    order(ACT_ALARM, "ask/a");
    ck_assert_str_eq(next_event(true), "ask open /ask/a");
    ck_assert_int_eq(answer_of().error, EINTR);
    pthread_mutex_lock(&event_lock);
    ck_assert_uint_eq(n_withdrawn, 1);
    pthread_mutex_unlock(&event_lock);
    order(ACT_OPEN, "one");
    ck_assert_int_eq(answer_of().error, EACCES);
}
END_TEST

START_TEST(sixty_four_threads_get_an_answer_each_time)
{
    order(ACT_HAMMER, "sec");
    ck_assert_int_eq(answer_of().error, 0);
    pthread_mutex_lock(&event_lock);
    ck_assert_uint_eq(n_decided, THREADS * ROUNDS);
    pthread_mutex_unlock(&event_lock);
}
END_TEST

START_TEST(whatever_number_is_let_through_at_once_each_open_is_done)
{
    order(ACT_CROWD, "ask/a");
    for (int i = 0; i < CROWD; i++) {
        ck_assert_str_eq(next_event(true), "ask open /ask/a");
    }
    give(ABX_VERDICT_ALLOW);
    ck_assert_int_eq(answer_of().error, 0);
}
END_TEST

START_TEST(the_host_itself_cannot_walk_through_the_mask)
{
    char path[400];

    order(ACT_STAT, "def");
    ck_assert_int_eq(answer_of().error, 0);
    snprintf(path, sizeof path, "/proc/%d/root%s/def/in/ok/f", box, root);
    ck_assert_int_eq(open(path, O_PATH), -1);
    ck_assert_int_eq(errno, EACCES);
    ck_assert_str_eq(next_event(false), "");
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("mask");
    TCase *tcase = tcase_create("mask");

    tcase_set_timeout(tcase, 20);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, each_attempt_has_its_answer_and_its_event);
    tcase_add_test(tcase, the_process_is_named_as_the_host_sees_it);
    tcase_add_test(tcase, a_held_open_goes_on_with_the_content_after_a_yes);
    tcase_add_test(tcase, a_held_listing_goes_on_after_a_yes);
    tcase_add_test(tcase, a_file_is_read_to_its_end_whatever_the_host_has_of_it_in_memory);
    tcase_add_test(tcase, what_was_asked_about_is_what_is_opened);
    tcase_add_test(tcase, a_killed_process_withdraws_its_question);
    tcase_add_test(tcase, a_signal_ends_a_held_call);
    tcase_add_test(tcase, sixty_four_threads_get_an_answer_each_time);
    tcase_add_test(tcase, whatever_number_is_let_through_at_once_each_open_is_done);
    tcase_add_test(tcase, the_host_itself_cannot_walk_through_the_mask);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
