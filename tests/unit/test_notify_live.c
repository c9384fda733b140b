/* SPDX-License-Identifier: Apache-2.0
 * The listener with real system calls of a process behind real mounts and the real filter. */
#include "unit/notify_box.h"

#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct rule_row rules[] = { { "", ABX_VERDICT_ALLOW },
    { "/.bashrc", ABX_VERDICT_DENY }, { "/git/config", ABX_VERDICT_DENY },
    { "/asked", ABX_VERDICT_ASK }, { NULL, 0 } };

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
    struct itimerval timer = { .it_value.tv_usec = 50000 };

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    EXPECT(FAILS(put("asked", "x", 0), EINTR));
    return 0;
}

START_TEST(a_signal_interrupts_a_held_call)
{
    box.answer = ABX_VERDICT_ASK;
    ck_assert_int_eq(notify_box_run(&box, write_asked_interrupted), 0);
    ck_assert_uint_eq(box.n_withdrawn, 1);
}
END_TEST

static int
killed_while_held(struct notify_box *b)
{
    pid_t pid = fork();

    if (pid == 0) {
        put("asked", "x", 0);
        _exit(0);
    }
    usleep(100000);
    kill(pid, SIGKILL);
    EXPECT(waitpid(pid, NULL, 0) == pid);
    usleep(250000);
    return 0;
}

START_TEST(a_killed_caller_withdraws_its_question)
{
    box.answer = ABX_VERDICT_ASK;
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

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("notify_live");
    TCase *tcase = tcase_create("notify_live");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 20);
    tcase_add_test(tcase, a_free_place_is_written_without_asking);
    tcase_add_test(tcase, a_guarded_place_is_written_on_behalf);
    tcase_add_test(tcase, a_denied_write_is_EACCES_and_an_event);
    tcase_add_test(tcase, a_rename_between_two_writable_trees_works);
    tcase_add_test(tcase, content_that_takes_a_protected_name_cannot_be_changed_afterwards);
    tcase_add_test(tcase, a_held_open_goes_on_after_the_answer);
    tcase_add_test(tcase, an_answer_that_comes_at_once_is_not_lost);
    tcase_add_test(tcase, a_held_open_fails_after_a_denial);
    tcase_add_test(tcase, an_answer_counts_for_the_object_that_was_shown);
    tcase_add_test(tcase, a_signal_interrupts_a_held_call);
    tcase_add_test(tcase, a_killed_caller_withdraws_its_question);
    tcase_add_test(tcase, a_refused_call_is_EPERM_and_an_event);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
