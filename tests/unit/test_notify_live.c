/* SPDX-License-Identifier: Apache-2.0
 * The listener with real system calls of a process behind real mounts and the real filter. */
#include "unit/notify_box.h"

#include "failing_malloc.h"
#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct rule_row rules[] = { { "", ABX_VERDICT_ALLOW },
    { "/later/deep/x", ABX_VERDICT_DENY }, { "/.bashrc", ABX_VERDICT_DENY },
    { "/git/config", ABX_VERDICT_DENY }, { "/asked", ABX_VERDICT_ASK },
    { "/secrets/key", ABX_VERDICT_DENY }, { "/empty/key", ABX_VERDICT_DENY }, { NULL, 0 } };

static struct notify_box box;

static void
set_up(void)
{
    notify_box_init(&box, rules, false);
}

static void
tear_down(void)
{
    notify_box_done(&box);
}

/* In the box: returns the line that is not so. */
#define EXPECT(is_so)                                                                              \
    do {                                                                                           \
        if (!(is_so)) {                                                                            \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #is_so, strerror(errno));      \
            return __LINE__ % 250 + 1;                                                             \
        }                                                                                          \
    } while (0)
#define FAILS(call, error) ((call) < 0 && errno == (error))

static int
put(const char *path, const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0666);

    if (fd < 0) {
        return -1;
    }
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        return -1;
    }
    return close(fd);
}

static int
write_in_free_place(struct notify_box *b)
{
    EXPECT(put("free/a", "hello", 0) == 0);
    EXPECT(put("free/a", "hello2", O_TRUNC) == 0);
    EXPECT(mkdir("free/d", 0755) == 0);
    EXPECT(put("free/d/b", "b", O_EXCL) == 0);
    EXPECT(rename("free/d/b", "free/d/c") == 0);
    EXPECT(unlink("free/d/c") == 0);
    EXPECT(rmdir("free/d") == 0);
    EXPECT(put("/proc/self/fd/2", "", 0) == 0 || errno == ENXIO || errno == EACCES);
    EXPECT(put("/dev/null", "x", 0) == 0);
    return 0;
}

START_TEST(a_free_place_is_written_without_asking)
{
    ck_assert_int_eq(notify_box_run(&box, write_in_free_place), 0);
    ck_assert(notify_box_has(&box, "free/a", "hello2"));
    ck_assert(!notify_box_has(&box, "free/d/c", ""));
    ck_assert_uint_eq(box.n_asked, 0);
}
END_TEST

static int
write_in_guarded_place(struct notify_box *b)
{
    struct stat st;
    int fd;

    EXPECT(put("new", "one", 0) == 0);
    EXPECT(put("new", "two", O_APPEND) == 0);
    EXPECT(FAILS(put("new", "", O_EXCL), EEXIST));
    EXPECT(stat("new", &st) == 0 && (st.st_mode & 0777) == 0644);
    umask(077);
    EXPECT(put("private", "x", 0) == 0);
    EXPECT(stat("private", &st) == 0 && (st.st_mode & 0777) == 0600);
    umask(022);
    EXPECT(mkdir("dir", 0777) == 0);
    EXPECT(put("dir/in", "in", 0) == 0);
    EXPECT(symlink("dir/in", "link") == 0);
    EXPECT(put("link", "through", O_TRUNC) == 0);
    EXPECT(symlink("dangling-target", "dangling") == 0);
    EXPECT(put("dangling", "made", 0) == 0);
    EXPECT(link("new", "new2") == 0);
    EXPECT(rename("new2", "new3") == 0);
    EXPECT(chmod("new3", 0600) == 0);
    EXPECT(truncate("private", 0) == 0);
    EXPECT(utimensat(AT_FDCWD, "new3", NULL, 0) == 0);
    EXPECT(access("new3", W_OK) == 0 && access(".", W_OK) == 0);
    EXPECT(FAILS(access("/etc", W_OK), EROFS) || errno == EACCES);
    fd = open("new3", O_RDONLY);
    EXPECT(fd >= 0 && fchmod(fd, 0640) == 0 && futimens(fd, NULL) == 0);
    EXPECT(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0640);
    EXPECT(mkfifo("fifo", 0600) == 0);
    EXPECT(FAILS(mknod("device", S_IFCHR | 0600, 0), EPERM));
    EXPECT(unlink("private") == 0 && unlink("fifo") == 0);
    EXPECT(mkdir("gone", 0700) == 0 && rmdir("gone") == 0);
    fd = open(".", O_TMPFILE | O_RDWR, 0600);
    EXPECT(fd >= 0 && write(fd, "tmp", 3) == 3);
    {
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        EXPECT(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW) == 0);
    }
    return 0;
}

START_TEST(a_guarded_place_is_written_on_behalf)
{
    ck_assert_int_eq(notify_box_run(&box, write_in_guarded_place), 0);
    ck_assert(notify_box_has(&box, "new", "onetwo"));
    ck_assert(notify_box_has(&box, "new3", "onetwo"));
    ck_assert(notify_box_has(&box, "dir/in", "through"));
    ck_assert(notify_box_has(&box, "dangling-target", "made"));
    ck_assert(notify_box_has(&box, "named", "tmp"));
    ck_assert(box.n_bound >= 2);
}
END_TEST

/* The time that a new link was followed is yet to be written: a look-up that must not wait ends
 * there, and the path has no name that could be looked for in its parent. */
static int
write_over_new_link(struct notify_box *b)
{
    struct stat st;
    int fd;

    EXPECT(mkdir("dir", 0700) == 0 && symlink("dir", "link") == 0);
    fd = open("link/.", O_TMPFILE | O_RDWR, 0600);
    EXPECT(fd >= 0 && write(fd, "tmp", 3) == 3);
    EXPECT(chmod("link/.", 0750) == 0 && stat("dir", &st) == 0 && (st.st_mode & 0777) == 0750);
    EXPECT(access("link/.", W_OK) == 0);
    EXPECT(FAILS(open("missing/.", O_TMPFILE | O_RDWR, 0600), ENOENT));
    EXPECT(symlink("loop", "loop") == 0);
    EXPECT(FAILS(open("loop/.", O_TMPFILE | O_RDWR, 0600), ELOOP));
    return 0;
}

START_TEST(a_directory_whose_lookup_would_wait_is_found)
{
    ck_assert_int_eq(notify_box_run(&box, write_over_new_link), 0);
}
END_TEST

static int
write_protected(struct notify_box *b)
{
    EXPECT(FAILS(put(".bashrc", "x", 0), EACCES));
    EXPECT(FAILS(put("free/../.bashrc", "x", 0), EACCES));
    EXPECT(FAILS(mkdir(".bashrc", 0700), EACCES));
    EXPECT(FAILS(symlink("x", ".bashrc"), EACCES));
    EXPECT(put("free/mine", "x", 0) == 0);
    EXPECT(FAILS(rename("free/mine", ".bashrc"), EACCES));
    EXPECT(FAILS(link("free/mine", ".bashrc"), EACCES));
    EXPECT(FAILS(rename("git", "git2"), EACCES));
    EXPECT(FAILS(put("/etc/new-file", "x", 0), EACCES));
    EXPECT(FAILS(put("/etc/passwd", "x", O_APPEND), EACCES));
    EXPECT(FAILS(chmod("/etc/passwd", 0666), EACCES));
    EXPECT(FAILS(open("/no/such/file", O_WRONLY), ENOENT));
    EXPECT(symlink("/etc/passwd", "free/link") == 0);
    EXPECT(FAILS(put("free/link", "x", O_APPEND), EACCES));
    EXPECT(symlink("../.bashrc", "free/link2") == 0);
    EXPECT(FAILS(put("free/link2", "x", 0), EACCES));
    EXPECT(FAILS(open("/proc/self/root/etc/passwd", O_WRONLY), EACCES));
    EXPECT(FAILS(open("/proc/self/cwd/.bashrc", O_WRONLY | O_CREAT, 0600), EACCES));
    EXPECT(FAILS(chmod("free/mine", 04755), EPERM));
    return 0;
}

START_TEST(a_denied_write_is_EACCES_and_an_event)
{
    ck_assert_int_eq(notify_box_run(&box, write_protected), 0);
    ck_assert(notify_box_denied(&box, ".bashrc"));
    ck_assert(notify_box_denied(&box, "git"));
    ck_assert(notify_box_denied(&box, "/etc/new-file"));
    ck_assert(notify_box_denied(&box, "/etc/passwd"));
    ck_assert(notify_box_has(&box, ".bashrc", NULL));
}
END_TEST

static int
change_by_descriptor(struct notify_box *b)
{
    int fd = open("/etc/passwd", O_RDONLY);

    EXPECT(fd >= 0 && FAILS(fchmod(fd, 0666), EACCES));
    EXPECT(FAILS(futimens(fd, NULL), EACCES));
    EXPECT(put("free/a", "a", 0) == 0);
    fd = open("free/a", O_RDONLY);
    EXPECT(fd >= 0 && fchmod(fd, 0600) == 0 && futimens(fd, NULL) == 0);
    return 0;
}

START_TEST(a_change_by_descriptor_is_told_where_nothing_is_guarded)
{
    size_t n_guards = box.plan.guards.count;

    box.plan.guards.count = 0;
    ck_assert_int_eq(notify_box_run(&box, change_by_descriptor), 0);
    box.plan.guards.count = n_guards;
    ck_assert(notify_box_denied(&box, "/etc/passwd"));
}
END_TEST

/* ---- without memory ---- */
static atomic_uint countdown;
static pid_t supervisor;

/* Only the threads of the listener, which are no part of the process in the box. */
static bool
runs_out(const void *caller)
{
    return getpid() == supervisor && gettid() != supervisor && atomic_fetch_sub(&countdown, 1) == 1;
}

static int
write_without_memory(struct notify_box *b)
{
    if (put("new", "x", 0) == 0) {
        return 0;
    }
    EXPECT(errno == EACCES);
    return 250;
}

START_TEST(a_write_that_memory_lacks_for_is_EACCES_and_an_event)
{
    int r;

    supervisor = getpid();
    atomic_store(&countdown, (unsigned int)_i);
    malloc_fail_if(runs_out);
    r = notify_box_run(&box, write_without_memory);
    malloc_fail_if(NULL);
    ck_assert_msg(r == 0 || r == 250, "at %d: %d", _i, r);
    ck_assert_msg(_i > 1 || r == 250, "nothing failed");
    ck_assert_msg((r == 250) == (box.n_told > 0), "at %d: %u events for %d", _i, box.n_told, r);
}
END_TEST

/* All threads of the supervisor, once the box stands. */
static bool
runs_out_later(const void *caller)
{
    return getpid() == supervisor && box.n_told > 0 && !notify_box_is_asked() &&
           atomic_fetch_sub(&countdown, 1) == 1;
}

static int
ask_without_memory(struct notify_box *b)
{
    EXPECT(FAILS(put(".bashrc", "x", 0), EACCES));
    if (put("asked", "x", 0) == 0) {
        return 0;
    }
    EXPECT(errno == EACCES);
    return 250;
}

START_TEST(nobody_is_asked_about_what_memory_lacks_to_show)
{
    int r;

    supervisor = getpid();
    box.answer = ABX_VERDICT_ALLOW;
    atomic_store(&countdown, (unsigned int)_i);
    malloc_fail_if(runs_out_later);
    r = notify_box_run(&box, ask_without_memory);
    malloc_fail_if(NULL);
    ck_assert_msg(r == 0 || r == 250, "at %d: %d", _i, r);
    ck_assert_msg(box.n_unbound == 0, "at %d", _i);
    ck_assert_msg((r == 250) == (box.n_told > 1), "at %d: %u events for %d", _i, box.n_told, r);
}
END_TEST

static int
move_protected(struct notify_box *b)
{
    EXPECT(mkdir("dir", 0700) == 0 && put("dir/x", "", 0) == 0);
    EXPECT(rename("dir", "dir2") == 0);
    EXPECT(FAILS(rename("secrets", "free3"), EACCES));
    EXPECT(mkdir("bad", 0700) == 0 && put("bad/key", "", 0) == 0 && rmdir("empty") == 0);
    EXPECT(FAILS(rename("bad", "empty"), EACCES));
    return 0;
}

START_TEST(a_directory_with_something_that_a_pattern_protects_keeps_its_name)
{
    char path[128];
    size_t n_guards;

    box.plan.guard_patterns = true;
    n_guards = box.plan.guards.count;
    box.plan.guards.count = 0; /* as patterns: known to the broker only */
    for (const char *const *name = (const char *const[]){ "secrets", "empty", NULL }; *name != NULL;
            name++) {
        snprintf(path, sizeof path, "%s/%s", box.workspace, *name);
        ck_assert(mkdir(path, 0755) == 0);
    }
    notify_box_write(&box, "secrets/key", "x");
    ck_assert_int_eq(notify_box_run(&box, move_protected), 0);
    box.plan.guards.count = n_guards;
    ck_assert(notify_box_has(&box, "secrets/key", "x"));
}
END_TEST

static int
move_between_trees(struct notify_box *b)
{
    EXPECT(put("free/a", "a", 0) == 0);
    EXPECT(rename("free/a", "free2/a") == 0);
    EXPECT(link("free2/a", "free/b") == 0);
    EXPECT(rename("free2/a", "top") == 0);
    EXPECT(mkdir("free/tree", 0755) == 0 && put("free/tree/x", "x", 0) == 0);
    EXPECT(rename("free/tree", "tree") == 0);
    EXPECT(put("tree/y", "y", 0) == 0);
    EXPECT(rename("tree", "free2/tree") == 0);
    EXPECT(put("free2/tree/z", "z", 0) == 0);
    return 0;
}

START_TEST(a_rename_between_two_writable_trees_works)
{
    ck_assert_int_eq(notify_box_run(&box, move_between_trees), 0);
    ck_assert(notify_box_has(&box, "top", "a"));
    ck_assert(notify_box_has(&box, "free/b", "a"));
    ck_assert(notify_box_has(&box, "free2/tree/y", "y"));
}
END_TEST

static int
replace_config(struct notify_box *b)
{
    int fd;

    EXPECT(put("git/config.lock", "bad", 0) == 0);
    EXPECT(FAILS(rename("git/config.lock", "git/config"), EACCES));
    fd = open("git/config.lock", O_WRONLY | O_TRUNC);
    EXPECT(fd >= 0 && write(fd, "good", 4) == 4);
    EXPECT(rename("git/config.lock", "git/config") == 0);
    EXPECT(pwrite(fd, "evil", 4, 0) == 4);
    return 0;
}

START_TEST(content_that_takes_a_protected_name_cannot_be_changed_afterwards)
{
    notify_box_write(&box, "git/config", "before");
    ck_assert_int_eq(notify_box_run(&box, replace_config), 0);
    ck_assert(notify_box_has(&box, "git/config", "good"));
    ck_assert(notify_box_has(&box, "git/config.lock", NULL));
}
END_TEST

static int
link_protected(struct notify_box *b)
{
    int fd;

    EXPECT(FAILS(link("git/config", "free/other"), EACCES));
    EXPECT(FAILS(link("git/config", "other"), EACCES));
    fd = open("git/config", O_RDONLY);
    EXPECT(fd >= 0);
    EXPECT(FAILS(linkat(fd, "", AT_FDCWD, "other", AT_EMPTY_PATH), EACCES) || errno == ENOENT);
    {
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        EXPECT(FAILS(linkat(AT_FDCWD, path, AT_FDCWD, "other", AT_SYMLINK_FOLLOW), EACCES));
    }
    EXPECT(FAILS(link("/usr/bin/env", "other"), EXDEV)); /* so that programs make a copy */
    EXPECT(put("mine", "x", 0) == 0 && link("mine", "free/other") == 0);
    return 0;
}

static void
check_links(void)
{
    notify_box_write(&box, "git/config", "before");
    ck_assert_int_eq(notify_box_run(&box, link_protected), 0);
    ck_assert(notify_box_denied(&box, "git/config"));
    ck_assert(!notify_box_denied(&box, "/usr/bin/env"));
}

START_TEST(a_link_gives_no_protected_file_another_name)
{
    check_links();
}
END_TEST

START_TEST(a_link_gives_no_protected_file_another_name_where_patterns_apply)
{
    box.plan.guard_patterns = true;
    check_links();
}
END_TEST

static int
lead_to_another(struct notify_box *b)
{
    EXPECT(mkdir("other", 0755) == 0 && mkdir("other/deep", 0755) == 0);
    EXPECT(put("other/deep/x", "evil", 0) == 0);
    EXPECT(FAILS(symlink("other", "later"), EACCES));
    EXPECT(symlink("other", "link") == 0);
    EXPECT(FAILS(rename("link", "later"), EACCES));
    EXPECT(FAILS(link("link", "later"), EACCES));
    EXPECT(FAILS(rename("other", "later"), EACCES));
    EXPECT(mkdir("later", 0755) == 0);
    EXPECT(FAILS(symlink("../other/deep", "later/deep"), EACCES));
    EXPECT(FAILS(rename("other/deep", "later/deep"), EACCES));
    EXPECT(FAILS((int)syscall(SYS_renameat2, AT_FDCWD, "link", AT_FDCWD, "later", 2u), EACCES));
    EXPECT(mkdir("later/deep", 0755) == 0 && put("later/deep/y", "y", 0) == 0);
    EXPECT(FAILS(put("later/deep/x", "x", 0), EACCES));
    return 0;
}

START_TEST(no_link_stands_for_a_directory_of_a_protected_name)
{
    ck_assert_int_eq(notify_box_run(&box, lead_to_another), 0);
    ck_assert(notify_box_has(&box, "later/deep/y", "y"));
    ck_assert(notify_box_denied(&box, "later"));
    ck_assert(notify_box_denied(&box, "later/deep"));
}
END_TEST

static int
write_asked(struct notify_box *b)
{
    EXPECT(put("asked", "given", 0) == 0);
    return 0;
}

START_TEST(a_held_open_goes_on_after_the_answer)
{
    box.answer = ABX_VERDICT_ALLOW;
    box.ask_delay_ns = 250000000;
    ck_assert_int_eq(notify_box_run(&box, write_asked), 0);
    ck_assert_uint_eq(box.n_asked, 1);
    ck_assert(notify_box_has(&box, "asked", "given"));
}
END_TEST

static int
write_asked_twice(struct notify_box *b)
{
    pid_t other = fork();
    int status, r = put("asked", "given", 0);

    if (other == 0) {
        _exit(r == 0 ? 0 : 1);
    }
    EXPECT(r == 0);
    EXPECT(waitpid(other, &status, 0) == other && status == 0);
    return 0;
}

START_TEST(two_held_opens_of_one_new_file_both_go_on)
{
    box.answer = ABX_VERDICT_ALLOW;
    box.ask_delay_ns = 200000000;
    ck_assert_int_eq(notify_box_run(&box, write_asked_twice), 0);
    ck_assert_uint_eq(box.n_asked, 2);
    ck_assert(notify_box_has(&box, "asked", "given"));
}
END_TEST

START_TEST(an_answer_that_comes_at_once_is_not_lost)
{
    box.answer = ABX_VERDICT_ALLOW;
    ck_assert_int_eq(notify_box_run(&box, write_asked), 0);
}
END_TEST

static int
write_asked_denied(struct notify_box *b)
{
    EXPECT(FAILS(put("asked", "x", 0), EACCES));
    return 0;
}

START_TEST(a_held_open_fails_after_a_denial)
{
    ck_assert_int_eq(notify_box_run(&box, write_asked_denied), 0);
    ck_assert(notify_box_has(&box, "asked", NULL));
}
END_TEST

static void
replace_asked(struct notify_box *b)
{
    char path[128], other[128];

    snprintf(path, sizeof path, "%s/asked", b->workspace);
    snprintf(other, sizeof other, "%s/other", b->workspace);
    ck_assert(rename(other, path) == 0);
}

START_TEST(an_answer_counts_for_the_object_that_was_shown)
{
    notify_box_write(&box, "asked", "shown");
    notify_box_write(&box, "other", "other");
    box.answer = ABX_VERDICT_ALLOW;
    box.ask_delay_ns = 50000000;
    box.on_ask = replace_asked;
    ck_assert_int_eq(notify_box_run(&box, write_asked_denied), 0);
    ck_assert(notify_box_denied(&box, "asked"));
    ck_assert(notify_box_has(&box, "asked", "other"));
}
END_TEST

static void
on_alarm(int signal)
{
}

static int
write_asked_interrupted(struct notify_box *b)
{
    struct sigaction action = { .sa_handler = on_alarm };

    sigaction(SIGALRM, &action, NULL);
    EXPECT(FAILS(put("asked", "x", 0), EINTR));
    return 0;
}

static void
send_alarm(struct notify_box *b)
{
    ck_assert_int_eq(kill(b->boundary.init_pid, SIGALRM), 0);
}

START_TEST(a_signal_interrupts_a_held_call)
{
    box.answer = ABX_VERDICT_ASK;
    box.on_ask = send_alarm;
    ck_assert_int_eq(notify_box_run(&box, write_asked_interrupted), 0);
    ck_assert_uint_eq(box.n_withdrawn, 1);
}
END_TEST

static int told_pipe[2];

/* On the host: tells the box when it is so. */
static void
tell_when(struct notify_box *b, const unsigned int *count)
{
    bool is_so = false;

    while (!is_so && !atomic_load(&b->has_ended)) {
        usleep(1000);
        pthread_mutex_lock(&b->lock);
        is_so = *count > 0;
        pthread_mutex_unlock(&b->lock);
    }
    (void)!write(told_pipe[1], "", 1);
}

static void *
tell_of_question(void *data)
{
    struct notify_box *b = data;

    tell_when(b, &b->n_asked);
    tell_when(b, &b->n_withdrawn);
    return NULL;
}

static int
killed_while_held(struct notify_box *b)
{
    pid_t pid = fork();
    char byte;

    if (pid == 0) {
        put("asked", "x", 0);
        _exit(0);
    }
    EXPECT(read(told_pipe[0], &byte, 1) == 1); /* asked */
    kill(pid, SIGKILL);
    EXPECT(waitpid(pid, NULL, 0) == pid);
    EXPECT(read(told_pipe[0], &byte, 1) == 1); /* withdrawn */
    return 0;
}

START_TEST(a_killed_caller_withdraws_its_question)
{
    box.answer = ABX_VERDICT_ASK;
    box.beside = tell_of_question;
    ck_assert_int_eq(pipe(told_pipe), 0);
    ck_assert_int_eq(notify_box_run(&box, killed_while_held), 0);
    ck_assert_uint_eq(box.n_withdrawn, 1);
}
END_TEST

static int
refused_calls(struct notify_box *b)
{
    EXPECT(FAILS(unshare(CLONE_NEWUSER), EPERM));
    EXPECT(FAILS(syscall(SYS_bpf, 0, NULL, 0), EPERM));
    return 0;
}

START_TEST(a_refused_call_is_EPERM_and_an_event)
{
    ck_assert_int_eq(notify_box_run(&box, refused_calls), 0);
    ck_assert(box.n_told == 2 && strcmp(box.told[0].rule, "boundary:unshare") == 0);
    ck_assert(strcmp(box.told[1].rule, "boundary:bpf") == 0);
}
END_TEST

/* ---- races ---- */
#define TRIES 3000

static char flipped[64];
static atomic_bool is_over;

static void *
flip_path(void *data)
{
    while (!atomic_load(&is_over)) {
        memcpy(flipped, "./////n", 7);
        memcpy(flipped, ".bashrc", 7);
    }
    return NULL;
}

/* Opens again and again, and looks whether what was opened is what is protected. */
static int
open_and_compare(const char *path)
{
    struct stat protected, opened;

    EXPECT(stat(".bashrc", &protected) == 0);
    for (int i = 0; i < TRIES; i++) {
        int fd = open(path, O_WRONLY | O_CREAT, 0600);

        if (fd >= 0) {
            EXPECT(fstat(fd, &opened) == 0 && opened.st_ino != protected.st_ino);
            close(fd);
        }
    }
    return 0;
}

static int
race_of_memory(struct notify_box *b)
{
    pthread_t thread;
    int r;

    strcpy(flipped, ".bashrc");
    EXPECT(pthread_create(&thread, NULL, flip_path, NULL) == 0);
    r = open_and_compare(flipped);
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    return r;
}

static void *
flip_link(void *data)
{
    while (!atomic_load(&is_over)) {
        rename("free/to-new", "free/link");
        symlink("../new", "free/to-new");
        rename("free/to-protected", "free/link");
        symlink("../.bashrc", "free/to-protected");
    }
    return NULL;
}

static int
race_of_links(struct notify_box *b)
{
    pthread_t thread;
    int r;

    EXPECT(put("new", "", 0) == 0);
    EXPECT(symlink("../new", "free/to-new") == 0);
    EXPECT(symlink("../.bashrc", "free/to-protected") == 0);
    EXPECT(symlink("../.bashrc", "free/link") == 0);
    EXPECT(pthread_create(&thread, NULL, flip_link, NULL) == 0);
    r = open_and_compare("free/link");
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    return r;
}

START_TEST(a_path_that_changes_in_memory_never_opens_what_is_protected)
{
    notify_box_write(&box, ".bashrc", "mine");
    ck_assert_int_eq(notify_box_run(&box, race_of_memory), 0);
    ck_assert(notify_box_has(&box, ".bashrc", "mine"));
}
END_TEST

START_TEST(a_link_that_changes_never_opens_what_is_protected)
{
    notify_box_write(&box, ".bashrc", "mine");
    ck_assert_int_eq(notify_box_run(&box, race_of_links), 0);
    ck_assert(notify_box_has(&box, ".bashrc", "mine"));
}
END_TEST

/* ---- what blocks ---- */
static int
open_while_others_block(struct notify_box *b)
{
    pid_t pids[8];

    EXPECT(mkfifo("fifo", 0600) == 0);
    for (int i = 0; i < 8; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            open("fifo", i % 2 == 0 ? O_WRONLY : O_WRONLY | O_CREAT, 0600);
            _exit(0);
        }
    }
    usleep(50000);
    for (int i = 0; i < 20; i++) {
        EXPECT(put("new", "x", 0) == 0 && put("free/new", "x", 0) == 0);
    }
    for (int i = 0; i < 8; i++) {
        EXPECT(waitpid(pids[i], NULL, WNOHANG) == 0);
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    return 0;
}

START_TEST(a_pipe_without_a_reader_blocks_only_who_opens_it)
{
    ck_assert_int_eq(notify_box_run(&box, open_while_others_block), 0);
}
END_TEST

static int lease_pipe[2], release_pipe[2];

/* Holds a lease, says when it is asked to give it up, and does when it is told so. */
static pid_t
hold_lease(void)
{
    char path[128], byte = 'x';
    pid_t pid = fork();
    sigset_t set;
    int fd, signal;

    ck_assert(pid >= 0);
    if (pid > 0) {
        ck_assert(read(lease_pipe[0], &byte, 1) == 1);
        return pid;
    }
    snprintf(path, sizeof path, "%s/leased", box.workspace);
    sigemptyset(&set);
    sigaddset(&set, SIGIO);
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = open(path, O_RDONLY);
    if (fd < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) != 0 || write(lease_pipe[1], &byte, 1) != 1) {
        _exit(1);
    }
    sigwait(&set, &signal);
    close(release_pipe[1]);
    _exit(write(lease_pipe[1], &byte, 1) == 1 && read(release_pipe[0], &byte, 1) == 1 ? 0 : 1);
}

static int
open_leased(struct notify_box *b)
{
    pid_t pid = fork();
    int status = 0;
    char byte;

    if (pid == 0) {
        _exit(put("leased", "mine", O_TRUNC) == 0 ? 0 : 1);
    }
    EXPECT(read(lease_pipe[0], &byte, 1) == 1); /* now it waits */
    for (int i = 0; i < 20; i++) {
        EXPECT(put("new", "x", 0) == 0);
    }
    EXPECT(waitpid(pid, &status, WNOHANG) == 0);
    EXPECT(write(release_pipe[1], &byte, 1) == 1);
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}

START_TEST(a_leased_file_blocks_only_who_opens_it)
{
    pid_t holder;

    ck_assert(pipe(lease_pipe) == 0 && pipe(release_pipe) == 0);
    notify_box_write(&box, "leased", "before");
    holder = hold_lease();
    ck_assert_int_eq(notify_box_run(&box, open_leased), 0);
    ck_assert(notify_box_has(&box, "leased", "mine"));
    waitpid(holder, NULL, 0);
}
END_TEST

/* More calls at once than workers and their queue take. */
static int
many_at_once(struct notify_box *b)
{
    enum { MANY = 100 };
    pid_t pids[MANY];
    char name[32];
    int status;

    for (int i = 0; i < MANY; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            for (int k = 0; k < 5; k++) {
                snprintf(name, sizeof name, "many-%d-%d", i, k);
                if (put(name, "x", O_EXCL) != 0) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    for (int i = 0; i < MANY; i++) {
        EXPECT(waitpid(pids[i], &status, 0) == pids[i] && status == 0);
    }
    return 0;
}

START_TEST(more_calls_than_workers_are_all_answered)
{
    ck_assert_int_eq(notify_box_run(&box, many_at_once), 0);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("notify_live");
    TCase *tcase = tcase_create("notify_live");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 20);
    tcase_add_test(tcase, a_free_place_is_written_without_asking);
    tcase_add_test(tcase, a_guarded_place_is_written_on_behalf);
    tcase_add_test(tcase, a_directory_whose_lookup_would_wait_is_found);
    tcase_add_test(tcase, a_denied_write_is_EACCES_and_an_event);
    tcase_add_test(tcase, a_rename_between_two_writable_trees_works);
#ifndef __SANITIZE_ADDRESS__ /* which allocates for itself, and ends where that fails */
    tcase_add_loop_test(tcase, a_write_that_memory_lacks_for_is_EACCES_and_an_event, 1, 10);
    tcase_add_loop_test(tcase, nobody_is_asked_about_what_memory_lacks_to_show, 1, 8);
#endif
    tcase_add_test(tcase, a_change_by_descriptor_is_told_where_nothing_is_guarded);
    tcase_add_test(tcase, a_directory_with_something_that_a_pattern_protects_keeps_its_name);
    tcase_add_test(tcase, content_that_takes_a_protected_name_cannot_be_changed_afterwards);
    tcase_add_test(tcase, a_link_gives_no_protected_file_another_name);
    tcase_add_test(tcase, a_link_gives_no_protected_file_another_name_where_patterns_apply);
    tcase_add_test(tcase, no_link_stands_for_a_directory_of_a_protected_name);
    tcase_add_test(tcase, a_held_open_goes_on_after_the_answer);
    tcase_add_test(tcase, an_answer_that_comes_at_once_is_not_lost);
    tcase_add_test(tcase, two_held_opens_of_one_new_file_both_go_on);
    tcase_add_test(tcase, a_held_open_fails_after_a_denial);
    tcase_add_test(tcase, an_answer_counts_for_the_object_that_was_shown);
    tcase_add_test(tcase, a_signal_interrupts_a_held_call);
    tcase_add_test(tcase, a_killed_caller_withdraws_its_question);
    tcase_add_test(tcase, a_refused_call_is_EPERM_and_an_event);
    tcase_add_test(tcase, a_path_that_changes_in_memory_never_opens_what_is_protected);
    tcase_add_test(tcase, a_link_that_changes_never_opens_what_is_protected);
    tcase_add_test(tcase, a_pipe_without_a_reader_blocks_only_who_opens_it);
    tcase_add_test(tcase, a_leased_file_blocks_only_who_opens_it);
    tcase_add_test(tcase, more_calls_than_workers_are_all_answered);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
