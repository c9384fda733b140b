/* SPDX-License-Identifier: Apache-2.0
 * Opens for reading where names decide about them: with real system calls of a process behind real
 * mounts and the real filter. */
#include "unit/notify_box.h"

#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 3000

static const struct rule_row rules[] = { { "", ABX_VERDICT_ALLOW },
    { "/.bashrc", ABX_VERDICT_DENY }, { "/free/hidden", ABX_VERDICT_DENY }, { NULL, 0 } };

static struct notify_box box;
static char flipped[64];
static atomic_bool is_over;

/* In the box: returns the line that is not so. */
#define EXPECT(is_so)                                                                              \
    do {                                                                                           \
        if (!(is_so)) {                                                                            \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #is_so, strerror(errno));      \
            return __LINE__ % 250 + 1;                                                             \
        }                                                                                          \
    } while (0)
#define FAILS(call, error) ((call) < 0 && errno == (error))

static void
tear_down(void)
{
    notify_box_done(&box);
}

static int
put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

    close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

static void
set_up_reads(void)
{
    notify_box_init(&box, rules, true);
    notify_box_write(&box, ".bashrc", "secret");
    notify_box_write(&box, "readable", "hello");
}

/* 0: it has this text. */
static int
get(const char *path, const char *text)
{
    char content[64] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof content - 1);

    close(fd);
    return n >= 0 && strcmp(content, text) == 0 ? 0 : -1;
}

/* They are shown to root, which opens the file for the box. */
static bool
sees_no_kernel_addresses(void)
{
    char first[16];
    int fd = open("/proc/kallsyms", O_RDONLY);

    return fd < 0 || read(fd, first, sizeof first) <= 0 ||
           memcmp(first, "0000000000000000", sizeof first) == 0;
}

static int
read_by_name(struct notify_box *b)
{
    char path[64], byte;
    int fd, fds[2];

    EXPECT(get("readable", "hello") == 0);
    EXPECT(FAILS(open(".bashrc", O_RDONLY), EACCES));
    EXPECT(FAILS(open(".bashrc", O_RDONLY | O_CREAT, 0600), EACCES));
    EXPECT(FAILS(open("missing", O_RDONLY), ENOENT));
    fd = open(".bashrc", O_PATH);
    EXPECT(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT(FAILS(open(path, O_RDONLY), EACCES));
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    EXPECT(FAILS(open(path, O_RDONLY), EACCES));
    fd = open(".", O_RDONLY);
    EXPECT(fd >= 0 && faccessat(fd, "readable", R_OK, 0) == 0);
    EXPECT(FAILS(openat(fd, ".bashrc", O_RDONLY), EACCES));
    EXPECT(openat(fd, "readable", O_RDONLY) >= 0);
    EXPECT(open("free", O_RDONLY | O_DIRECTORY) >= 0);
    EXPECT(FAILS(open("readable", O_RDONLY | O_DIRECTORY), ENOTDIR));
    EXPECT(open("/dev/null", O_RDONLY) >= 0 && open("/dev/urandom", O_RDONLY) >= 0);
    EXPECT(open("/proc/self/status", O_RDONLY) >= 0 && open("/proc/meminfo", O_RDONLY) >= 0);
    EXPECT(open("/proc/self/maps", O_RDONLY) >= 0 && open("/proc/self", O_RDONLY) >= 0);
    EXPECT(FAILS(open("/proc/1/environ", O_RDONLY), EACCES));
    EXPECT(FAILS(open("/proc/1/maps", O_RDONLY), EACCES));
    EXPECT(FAILS(open("/proc/1/fdinfo", O_RDONLY), EACCES));
    EXPECT(sees_no_kernel_addresses());
    EXPECT(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
    snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
    fd = open(path, O_RDONLY);
    EXPECT(fd >= 0 && read(fd, &byte, 1) == 1);
    EXPECT(symlink("../.bashrc", "free/link") == 0);
    EXPECT(FAILS(open("free/link", O_RDONLY), EACCES));
    EXPECT(FAILS(open("free/link", O_RDONLY | O_NOFOLLOW), ELOOP));
    EXPECT(open("free/made", O_RDONLY | O_CREAT, 0600) >= 0);
    return 0;
}

static int
read_not_over_links(struct notify_box *b)
{
    char path[64];
    int fd = open(".", O_RDONLY | O_NOFOLLOW);

    EXPECT(fd >= 0 && openat(fd, "readable", O_RDONLY | O_NOFOLLOW) >= 0);
    EXPECT(FAILS(openat(fd, ".bashrc", O_RDONLY | O_NOFOLLOW), EACCES));
    EXPECT(FAILS(open("missing", O_RDONLY | O_NOFOLLOW), ENOENT));
    EXPECT(FAILS(open("missing/too", O_RDONLY | O_NOFOLLOW), ENOENT));
    EXPECT(FAILS(open("readable/", O_RDONLY | O_NOFOLLOW), ENOTDIR));
    EXPECT(symlink("..", "free/up") == 0);
    EXPECT(FAILS(open("free/up", O_RDONLY | O_NOFOLLOW), ELOOP));
    EXPECT(open("free/up/", O_RDONLY | O_NOFOLLOW) >= 0);
    EXPECT(open("free/up/readable", O_RDONLY | O_NOFOLLOW) >= 0);
    EXPECT(FAILS(open("free/up/.bashrc", O_RDONLY | O_NOFOLLOW), EACCES));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT(FAILS(open(path, O_RDONLY | O_NOFOLLOW), ELOOP));
    return 0;
}

START_TEST(what_may_be_no_link_is_decided_by_name_too)
{
    ck_assert_int_eq(notify_box_run(&box, read_not_over_links), 0);
    ck_assert(notify_box_denied(&box, ".bashrc"));
}
END_TEST

START_TEST(reads_are_decided_by_name_however_it_is_spelled)
{
    ck_assert_int_eq(notify_box_run(&box, read_by_name), 0);
    ck_assert(notify_box_denied(&box, ".bashrc"));
}
END_TEST

static int
read_what_is_hidden(struct notify_box *b)
{
    EXPECT(FAILS(open(".bashrc", O_RDONLY), EACCES));
    EXPECT(FAILS(open("free/.././/.bashrc", O_RDONLY), EACCES));
    EXPECT(symlink("../.bashrc", "free/to-hidden") == 0);
    EXPECT(FAILS(open("free/to-hidden", O_RDONLY), EACCES));
    EXPECT(get("free/.././/readable", "hello") == 0);
    EXPECT(FAILS(open("missing/../readable", O_RDONLY), ENOENT));
    EXPECT(FAILS(open("readable/../readable", O_RDONLY), ENOTDIR));
    return 0;
}

/* Opening does things: a pipe lets its writer go on, a lease is broken. */
START_TEST(what_is_hidden_is_not_opened_by_the_supervisor_either)
{
    const int opened = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char path[128], event[512];

    snprintf(path, sizeof path, "%s/.bashrc", box.workspace);
    ck_assert_int_ge(inotify_add_watch(opened, path, IN_OPEN), 0);
    ck_assert_int_eq(notify_box_run(&box, read_what_is_hidden), 0);
    ck_assert_int_eq(read(opened, event, sizeof event), -1);
    ck_assert_int_eq(errno, EAGAIN);
    close(opened);
}
END_TEST

static int
get_at(int directory, const char *text)
{
    char content[8] = "";
    int fd = openat(directory, "f", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof content - 1);

    close(fd);
    return n >= 0 && strcmp(content, text) == 0 ? 0 : -1;
}

static int
read_below_directories(struct notify_box *b)
{
    const int number = 20;
    int a, c;

    EXPECT(mkdir("free/a", 0755) == 0 && put("free/a/f", "a") == 0);
    EXPECT(mkdir("free/c", 0755) == 0 && put("free/c/f", "c") == 0);
    a = open("free/a", O_RDONLY | O_DIRECTORY);
    c = open("free/c", O_PATH);
    for (int i = 0; i < 4; i++) {
        EXPECT(dup2(a, number) == number && get_at(number, "a") == 0);
        EXPECT(fchdir(number) == 0 && get_at(AT_FDCWD, "a") == 0);
        EXPECT(dup2(c, number) == number && get_at(number, "c") == 0);
        EXPECT(fchdir(number) == 0 && get_at(AT_FDCWD, "c") == 0);
        close(number);
        EXPECT(FAILS(openat(number, "f", O_RDONLY), EBADF));
    }
    return 0;
}

START_TEST(a_relative_path_begins_where_its_directory_is_by_now)
{
    ck_assert_int_eq(notify_box_run(&box, read_below_directories), 0);
}
END_TEST

static void *
flip_read_path(void *data)
{
    while (!atomic_load(&is_over)) {
        strcpy(flipped, "readable");
        strcpy(flipped, "/dev/null");
        strcpy(flipped, "free");
        strcpy(flipped, ".bashrc");
    }
    return NULL;
}

static int
race_of_reads(struct notify_box *b)
{
    pthread_t thread;
    char content[8];

    strcpy(flipped, ".bashrc");
    EXPECT(pthread_create(&thread, NULL, flip_read_path, NULL) == 0);
    for (int i = 0; i < TRIES; i++) {
        int fd = open(flipped, i % 2 == 0 ? O_RDONLY : O_RDONLY | O_CREAT, 0600);
        ssize_t n = fd < 0 ? 0 : read(fd, content, 6);

        EXPECT(n != 6 || memcmp(content, "secret", 6) != 0);
        close(fd);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    return 0;
}

START_TEST(a_path_that_changes_in_memory_never_reads_what_is_hidden)
{
    ck_assert_int_eq(notify_box_run(&box, race_of_reads), 0);
}
END_TEST

static int
read_pipe(struct notify_box *b)
{
    pid_t pid;
    int fd;
    char text[4];

    EXPECT(mkfifo("free/fifo", 0600) == 0);
    pid = fork();
    if (pid == 0) {
        usleep(50000);
        fd = open("free/fifo", O_WRONLY);
        _exit(fd >= 0 && write(fd, "abc", 3) == 3 ? 0 : 1);
    }
    fd = open("free/fifo", O_RDONLY);
    EXPECT(fd >= 0 && read(fd, text, 3) == 3 && memcmp(text, "abc", 3) == 0);
    EXPECT(waitpid(pid, NULL, 0) == pid);
    return 0;
}

START_TEST(a_pipe_opened_for_reading_waits_for_its_writer)
{
    ck_assert_int_eq(notify_box_run(&box, read_pipe), 0);
}
END_TEST

/* On the host: replaces what is hidden once the box has it in hand. */
static void *
replace_hidden(void *data)
{
    char from[128], to[128], now[128];

    snprintf(from, sizeof from, "%s/other", box.workspace);
    snprintf(to, sizeof to, "%s/.bashrc", box.workspace);
    snprintf(now, sizeof now, "%s/free/now", box.workspace);
    while (access(now, F_OK) != 0 && !atomic_load(&box.has_ended)) {
        usleep(1000);
    }
    rename(from, to);
    return NULL;
}

static int
read_by_descriptor(struct notify_box *b)
{
    char path[64];
    struct stat stat;
    int fd = open(".bashrc", O_PATH);

    EXPECT(fd >= 0 && put("free/now", "x") == 0);
    do {
        usleep(1000);
        EXPECT(fstat(fd, &stat) == 0);
    } while (stat.st_nlink > 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT(FAILS(open(path, O_RDONLY), EACCES));
    fd = open("free/own", O_RDWR | O_CREAT, 0600);
    EXPECT(write(fd, "own", 3) == 3 && unlink("free/own") == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    EXPECT(get(path, "own") == 0);
    fd = memfd_create("memory", 0);
    EXPECT(write(fd, "mine", 4) == 4);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    EXPECT(get(path, "mine") == 0);
    return 0;
}

START_TEST(what_is_hidden_stays_so_when_its_name_is_gone)
{
    notify_box_write(&box, "other", "new");
    box.beside = replace_hidden;
    ck_assert_int_eq(notify_box_run(&box, read_by_descriptor), 0);
    ck_assert(notify_box_denied(&box, ".bashrc"));
}
END_TEST

/* On the host: what is secret is there only while its directory has the hidden name. */
static void *
move_to_and_fro(void *data)
{
    char shown[128], hidden[128], file[160];
    int secret;

    snprintf(shown, sizeof shown, "%s/free/dir", box.workspace);
    snprintf(hidden, sizeof hidden, "%s/free/hidden", box.workspace);
    snprintf(file, sizeof file, "%s/f", hidden);
    while (!atomic_load(&box.has_ended)) {
        if (rename(shown, hidden) != 0) {
            continue;
        }
        secret = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (secret >= 0) {
            (void)!write(secret, "secret", 6);
            close(secret);
        }
        unlink(file);
        rename(hidden, shown);
    }
    return NULL;
}

static int
race_of_directories(struct notify_box *b)
{
    char path[160];

    snprintf(path, sizeof path, "%s/free/dir/f", b->workspace);
    for (int i = 0; i < 4 * TRIES; i++) {
        int directory = i / 8 % 2 == 0 ? AT_FDCWD : open("free/dir", O_RDONLY | O_DIRECTORY);

        EXPECT(openat(directory, directory == AT_FDCWD ? path : "f", O_RDONLY) < 0);
        close(directory);
    }
    return 0;
}

START_TEST(what_comes_while_a_directory_has_a_hidden_name_is_never_opened)
{
    char path[128];

    snprintf(path, sizeof path, "%s/free/dir", box.workspace);
    ck_assert(mkdir(path, 0755) == 0 && chown(path, box.uid, box.gid) == 0);
    box.beside = move_to_and_fro;
    ck_assert_int_eq(notify_box_run(&box, race_of_directories), 0);
}
END_TEST

#define WAYS 200
#define ENDS 1000

/* A way that goes through the entry of the process again and again: it is likely to end on it. */
static void
name_status(char *path, pid_t pid)
{
    char *end = path + sprintf(path, "/proc/");

    for (int i = 0; i < WAYS; i++) {
        end += sprintf(end, "%d/../", pid);
    }
    sprintf(end, "%d/status", pid);
}

static int
read_of_those_who_end(struct notify_box *b)
{
    char path[PATH_MAX];
    int fd;

    signal(SIGCHLD, SIG_IGN); /* nobody waits for them */
    for (int i = 0; i < ENDS; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            for (volatile int spin = 0; spin < i % 400 * 1000; spin++) {
            }
            _exit(0);
        }
        name_status(path, pid);
        while ((fd = open(path, O_RDONLY)) >= 0) {
            close(fd);
        }
        EXPECT(errno == ENOENT || errno == ESRCH);
    }
    return 0;
}

START_TEST(a_process_that_ends_while_it_is_looked_at_leaves_nobody_waiting)
{
    ck_assert_int_eq(notify_box_run(&box, read_of_those_who_end), 0);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("reads_live");
    TCase *tcase = tcase_create("reads_live");

    tcase_add_checked_fixture(tcase, set_up_reads, tear_down);
    tcase_set_timeout(tcase, 40);
    tcase_add_test(tcase, reads_are_decided_by_name_however_it_is_spelled);
    tcase_add_test(tcase, what_may_be_no_link_is_decided_by_name_too);
    tcase_add_test(tcase, what_is_hidden_is_not_opened_by_the_supervisor_either);
    tcase_add_test(tcase, a_relative_path_begins_where_its_directory_is_by_now);
    tcase_add_test(tcase, a_path_that_changes_in_memory_never_reads_what_is_hidden);
    tcase_add_test(tcase, a_pipe_opened_for_reading_waits_for_its_writer);
    tcase_add_test(tcase, what_is_hidden_stays_so_when_its_name_is_gone);
    tcase_add_test(tcase, what_comes_while_a_directory_has_a_hidden_name_is_never_opened);
    tcase_add_test(tcase, a_process_that_ends_while_it_is_looked_at_leaves_nobody_waiting);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
