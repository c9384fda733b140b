/* SPDX-License-Identifier: Apache-2.0
 * Audit logs: the chain, what breaks it, and writers that fail, race and die. */
#include "audit/log.h"
#include "audit/redact.h"
#include "audit/verify.h"
#include "base/mem.h"

#include "unit/main.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

DEFINE_CLEANUP(audit_close, struct audit_log)

static char folder[] = "/tmp/agentbox-audit-XXXXXX";
static char path[64];

static void
setup(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
}

/* The files of the log in their order, the newest last; caller frees each. */
static size_t
list_files(char *files[], size_t room)
{
    struct dirent **names;
    int found = scandir(folder, &names, NULL, alphasort);
    size_t n = 0;

    for (int i = 0; i < found; i++) {
        if (names[i]->d_name[0] == 'l' && strcmp(names[i]->d_name, "log") != 0 && n < room) {
            ck_assert_int_gt(asprintf(&files[n++], "%s/%s", folder, names[i]->d_name), 0);
        }
        free(names[i]);
    }
    free(names);
    files[n++] = strdup(path);
    return n;
}

static void
teardown(void)
{
    char *files[256];
    size_t n = list_files(files, N_ELEMENTS(files) - 1);

    for (size_t i = 0; i < n; i++) {
        unlink(files[i]);
        free(files[i]);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

static struct audit_log *
open_with(uint64_t most, bool syncs)
{
    const struct audit_options options = { .most = most, .syncs = syncs };
    struct audit_log *log = NULL;
    struct fail fail = { 0 };

    ck_assert_msg(audit_open(path, &options, &log, &fail) == ABX_OK, "%s", fail.text);
    return log;
}

static struct audit_log *
open_log(void)
{
    return open_with(0, false);
}

static void
append(struct audit_log *log, const char *body)
{
    struct fail fail = { 0 };

    ck_assert_msg(audit_append(log, body, &fail) == ABX_OK, "%s", fail.text);
}

static void
read_file(const char *name, struct chain *chain, struct audit_file *file)
{
    AUTO(closep) int fd = open(name, O_RDONLY | O_CLOEXEC);
    struct fail fail = { 0 };

    ck_assert_msg(audit_read(fd, chain, NULL, file, &fail) == ABX_OK, "%s", fail.text);
}

static struct audit_file
read_log(void)
{
    struct audit_file file;
    struct chain chain;

    chain_begin(&chain);
    read_file(path, &chain, &file);
    return file;
}

/* How many records the file has; -1: it does not verify. */
static int
count(void)
{
    struct audit_file file = read_log();

    return file.state == ABX_AUDIT_WHOLE ? (int)file.records : -1;
}

static size_t
file_text(char *out, size_t room)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, out, room - 1);

    ck_assert_int_ge(n, 0);
    out[n] = '\0';
    return (size_t)n;
}

static void
set_text(const char *text, size_t length)
{
    AUTO(closep) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    ck_assert_int_eq(write(fd, text, length), (ssize_t)length);
}

START_TEST(what_is_appended_verifies_also_after_it_was_opened_again)
{
    for (int i = 0; i < 3; i++) {
        AUTO(audit_closep) struct audit_log *log = open_log();

        append(log, "{\"type\":\"denial\"}");
        append(log, "{\"type\":\"exited\"}");
    }
    ck_assert_int_eq(count(), 6);
}
END_TEST

/* Every byte is covered. */
START_TEST(a_change_of_any_byte_is_found)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    char text[2048];
    size_t length;

    append(log, "{\"type\":\"denial\"}");
    append(log, "{\"type\":\"exited\"}");
    length = file_text(text, sizeof text);
    for (size_t i = 0; i < length; i++) {
        text[i] ^= 1;
        set_text(text, length);
        ck_assert_msg(count() != 2, "byte %zu", i);
        text[i] ^= 1;
    }
    set_text(text, length);
    ck_assert_int_eq(count(), 2);
}
END_TEST

START_TEST(a_record_that_is_taken_out_is_missed)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    char text[4096];
    char *second, *third;

    for (int i = 0; i < 3; i++) {
        append(log, "{}");
    }
    file_text(text, sizeof text);
    second = strchr(text, '\n') + 1;
    third = strchr(second, '\n') + 1;
    memmove(second, third, strlen(third) + 1);
    set_text(text, strlen(text));
    ck_assert_int_eq(count(), -1);
}
END_TEST

START_TEST(a_log_whose_oldest_records_were_taken_out_is_not_whole)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    struct audit_file file;
    char text[4096];
    char *second;

    for (int i = 0; i < 3; i++) {
        append(log, "{}");
    }
    file_text(text, sizeof text);
    second = strchr(text, '\n') + 1;
    set_text(second, strlen(second));
    file = read_log();
    ck_assert_uint_eq(file.state, ABX_AUDIT_BROKEN);
    ck_assert_uint_eq(file.line, 1);
    ck_assert_uint_eq(file.byte, 0);
    ck_assert_uint_eq(file.first, 2);
    ck_assert_uint_eq(file.last, 3);
    ck_assert_ptr_nonnull(strstr(file.problem, "taken out"));
}
END_TEST

START_TEST(the_first_record_follows_nothing)
{
    AUTO(audit_closep) struct audit_log *log = open_log();

    memset(log->chain.hash, '1', sizeof log->chain.hash - 1);
    append(log, "{}");
    ck_assert_int_eq(count(), -1);
}
END_TEST

START_TEST(a_redacted_record_says_nothing_and_the_chain_is_whole)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    AUTO(str_done) struct str out = { 0 };
    char text[4096];
    char *second;

    append(log, "{\"type\":\"denial\",\"target\":\"/home/somebody\"}");
    append(log, "{}");
    file_text(text, sizeof text);
    second = strchr(text, '\n');
    ck_assert(record_redact(text, (size_t)(second - text), &out));
    str_add(&out, second);
    ck_assert_ptr_null(strstr(out.data, "somebody"));
    set_text(out.data, out.length);
    ck_assert_int_eq(count(), 2);
}
END_TEST

START_TEST(a_record_written_in_part_is_cut_off_and_no_earlier_one_is_lost)
{
    char text[4096];
    size_t whole, length;

    {
        AUTO(audit_closep) struct audit_log *log = open_log();

        append(log, "{\"a\":1}");
        whole = file_text(text, sizeof text);
        append(log, "{\"a\":2}");
        length = file_text(text, sizeof text);
    }
    for (size_t cut = whole + 1; cut < length; cut++) {
        AUTO(audit_closep) struct audit_log *log = NULL;
        char now[4096];

        set_text(text, cut);
        log = open_log();
        append(log, "{\"a\":3}");
        ck_assert_int_eq(count(), 3); /* the first, that something was cut off, and this */
        file_text(now, sizeof now);
        ck_assert_ptr_nonnull(strstr(now, "\"recovered\""));
        ck_assert_int_eq(memcmp(now, text, whole), 0);
    }
}
END_TEST

/* Appends until that fails, and says how often it went. */
static int
append_until_full(struct audit_log *log, struct fail *fail)
{
    int n = 0;

    while (n < 10000 && audit_append(log, "{\"type\":\"denial\"}", fail) == ABX_OK) {
        n++;
    }
    return n;
}

/* Nothing was taken off that stood there, and there is room again. */
static void
expect_to_go_on(struct audit_log *log, int n, const struct fail *fail)
{
    AUTO(freep) char *text = malloc(1 << 20);

    ck_assert_int_eq(fail->status, ABX_ERR_IO);
    ck_assert_str_ne(fail->remedy, "");
    append(log, "{}");
    ck_assert_int_eq(count(), n + 2); /* and one that says how many were lost */
    ck_assert_uint_gt(file_text(text, 1 << 20), 0);
    ck_assert_ptr_nonnull(strstr(text, "\"type\":\"lost\""));
    ck_assert_ptr_nonnull(strstr(text, "\"records\":1}"));
}

/* The host ignores no signal.  Within the limit is nothing of Check's: its own messages go to a
 * file, too. */
START_TEST(a_limit_of_the_hosts_files_fails_the_append_and_does_not_end_the_host)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    struct rlimit before, limit;
    struct fail fail = { 0 };
    int n;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){ 1000, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &limit);
    n = append_until_full(log, &fail);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(fail.os_code, EFBIG);
    ck_assert_int_eq(count(), n);
    expect_to_go_on(log, n, &fail);
}
END_TEST

static void
set_map(const char *name, const char *text)
{
    AUTO(closep) int fd = open(name, O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

/* A small file system of this process' own, over the folder. */
static void
mount_small(void)
{
    char uids[64], gids[64];

    snprintf(uids, sizeof uids, "%u %u 1", geteuid(), geteuid());
    snprintf(gids, sizeof gids, "%u %u 1", getegid(), getegid());
    ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0);
    set_map("/proc/self/setgroups", "deny");
    set_map("/proc/self/uid_map", uids);
    set_map("/proc/self/gid_map", gids);
    ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    ck_assert_int_eq(mount("small", folder, "tmpfs", 0, "size=16k,mode=700"), 0);
}

/* Fills all room but `left` bytes of it. */
static void
fill(const char *name, size_t left)
{
    AUTO(closep) int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    char zeros[512] = { 0 };

    while (write(fd, zeros, sizeof zeros) > 0) {
    }
    ck_assert_int_eq(errno, ENOSPC);
    ck_assert_int_eq(ftruncate(fd, lseek(fd, 0, SEEK_END) - (off_t)left), 0);
}

START_TEST(a_disk_that_is_full_fails_the_append_and_leaves_the_log_as_it_was)
{
    struct audit_log *log;
    struct fail fail = { 0 };
    char ballast[80];
    struct stat file;
    int n;

    mount_small();
    log = open_with(0, _i == 1);
    append(log, "{}");
    snprintf(ballast, sizeof ballast, "%s/x", folder);
    fill(ballast, 4096);
    n = 1 + append_until_full(log, &fail);
    ck_assert_int_gt(n, 5);
    ck_assert_int_eq(fail.os_code, ENOSPC);
    ck_assert_int_eq(count(), n); /* nothing of the one that failed is left */
    ck_assert_int_eq(stat(path, &file), 0);
    ck_assert_uint_eq((uint64_t)file.st_size, log->size);
    ck_assert_int_eq(unlink(ballast), 0);
    expect_to_go_on(log, n, &fail);
    audit_close(log);
    ck_assert_int_eq(umount2(folder, MNT_DETACH), 0);
}
END_TEST

/* Arguments of an action may be nested 8 deep, and stand two deeper in what a grant would add. */
START_TEST(what_is_recorded_is_shown_however_deep_it_is_nested)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    const char *paths[] = { path };
    char *text;

    append(log, "{\"type\":\"approval\",\"layer\":\"action\",\"adds\":{\"arguments\":"
                "{\"a\":[[[[[[[1]]]]]]]}}}");
    ck_assert_int_eq(
            abx_audit_render(paths, 1, "json", "action", &text, NULL, NULL), ABX_AUDIT_WHOLE);
    ck_assert_ptr_nonnull(strstr(text, "\"type\":\"approval\""));
    abx_free(text);
}
END_TEST

/* Names are of whoever was in the box, and may be sentences. */
START_TEST(a_name_with_blanks_is_quoted)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    const char *paths[] = { path };
    char *text;

    append(log, "{\"type\":\"denial\",\"verb\":\"open\",\"target\":\"/a\\\\\\\\' by /bin/sh\","
                "\"program\":\"/w/p rule 'grant:1'\",\"rule\":\"default\"}");
    ck_assert_int_eq(abx_audit_render(paths, 1, "text", NULL, &text, NULL, NULL), ABX_AUDIT_WHOLE);
    ck_assert_msg(strstr(text, " open '/a\\\\\\' by /bin/sh' by '/w/p rule \\'grant:1\\'' rule "
                               "default\n") != NULL,
            "%s", text);
    abx_free(text);
}
END_TEST

START_TEST(several_processes_append_to_one_log)
{
    enum { WRITERS = 4, EACH = 50 };

    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            struct audit_log *log = open_log();

            for (int k = 0; k < EACH; k++) {
                append(log, "{\"type\":\"notice\"}");
            }
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        ck_assert_int_gt(waitpid(-1, &status, 0), 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_eq(count(), WRITERS * EACH);
}
END_TEST

START_TEST(writers_that_are_killed_leave_a_log_that_goes_on)
{
    int last = 0;

    audit_close(open_log());
    for (int round = 0; round < 10; round++) {
        pid_t child = fork();
        struct audit_log *log;

        if (child == 0) {
            log = open_log();
            for (int i = 0; i < 500; i++) {
                append(log, "{\"type\":\"notice\",\"text\":\"something that takes some room\"}");
            }
            pause();
        }
        for (int n = last; n < last + 5 + 7 * round;) { /* once it has written a little */
            struct audit_file file = read_log();

            ck_assert_uint_ne(file.state, ABX_AUDIT_BROKEN);
            n = (int)file.last;
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        log = open_log();
        append(log, "{}");
        audit_close(log);
        ck_assert_int_gt(count(), last);
        last = count();
    }
}
END_TEST

/* ---- files of one log ---- */

/* Verifies all files as one chain, and returns its last number. */
static uint64_t
verify_all(size_t *ret_files)
{
    char *files[256];
    struct chain chain;

    *ret_files = list_files(files, N_ELEMENTS(files) - 1);
    chain_begin(&chain);
    for (size_t i = 0; i < *ret_files; i++) {
        struct audit_file file;
        uint64_t before = chain.n;

        read_file(files[i], &chain, &file);
        ck_assert_msg(file.state == ABX_AUDIT_WHOLE, "%s:%llu %s", files[i],
                (unsigned long long)file.line, file.problem);
        ck_assert_uint_eq(file.first, before + 1);
        free(files[i]);
    }
    return chain.n;
}

START_TEST(a_full_log_goes_on_in_a_new_file_with_the_same_chain)
{
    AUTO(audit_closep) struct audit_log *log = open_with(2000, false);
    size_t files;

    for (int i = 0; i < 100; i++) {
        append(log, "{\"type\":\"denial\"}");
    }
    ck_assert_uint_gt(verify_all(&files), 100);
    ck_assert_uint_gt(files, 5);
    ck_assert_uint_eq(verify_all(&files), 100 + files - 1); /* each new one says what it follows */
}
END_TEST

/* Where a file cannot be new for want of room, the log grows on. */
START_TEST(a_full_disk_keeps_a_log_from_no_record_that_has_room)
{
    struct audit_log *log;
    char ballast[80];
    size_t files;
    int n = 0;

    mount_small();
    log = open_with(1000, false);
    snprintf(ballast, sizeof ballast, "%s/x", folder);
    while (log->size < 1000) {
        append(log, "{\"type\":\"denial\"}");
        n++;
    }
    fill(ballast, 0);
    append(log, "{\"type\":\"denial\"}"); /* into what is left of the page */
    ck_assert_int_eq(count(), n + 1);
    ck_assert_int_eq(unlink(ballast), 0);
    append(log, "{\"type\":\"denial\"}");
    ck_assert_uint_eq(verify_all(&files), (uint64_t)n + 3);
    ck_assert_uint_eq(files, 2);
    audit_close(log);
    ck_assert_int_eq(umount2(folder, MNT_DETACH), 0);
}
END_TEST

START_TEST(what_is_written_through_to_the_disk_is_the_same_log)
{
    AUTO(audit_closep) struct audit_log *log = open_with(500, true);
    size_t files;

    for (int i = 0; i < 4; i++) {
        append(log, "{\"type\":\"denial\"}");
    }
    verify_all(&files);
    ck_assert_uint_eq(verify_all(&files), 4 + files - 1);
    ck_assert_uint_gt(files, 1);
    ck_assert_uint_eq(read_log().state, ABX_AUDIT_WHOLE); /* also alone */
}
END_TEST

START_TEST(several_processes_go_on_in_the_same_new_files)
{
    enum { WRITERS = 4, EACH = 100 };
    size_t files;

    for (int i = 0; i < WRITERS; i++) {
        if (fork() == 0) {
            struct audit_log *log = open_with(3000, false);

            for (int k = 0; k < EACH; k++) {
                append(log, "{\"type\":\"notice\"}");
            }
            _exit(0);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        ck_assert_int_gt(waitpid(-1, &status, 0), 0);
        ck_assert_int_eq(status, 0);
    }
    verify_all(&files);
    ck_assert_uint_eq(verify_all(&files), WRITERS * EACH + files - 1);
}
END_TEST

START_TEST(writers_that_are_killed_while_a_file_is_new_lose_nothing)
{
    size_t files;
    uint64_t last = 0;

    audit_close(open_log());
    for (uint64_t round = 0; round < 10; round++) {
        pid_t child = fork();
        struct audit_log *log;

        if (child == 0) {
            log = open_with(1000, false);
            for (int i = 0; i < 60; i++) {
                append(log, "{\"type\":\"notice\"}");
            }
            pause();
        }
        while (read_log().last < last + 5 + 3 * round) {
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        log = open_with(1000, false);
        append(log, "{}");
        audit_close(log);
        ck_assert_uint_gt(read_log().last, last);
        last = read_log().last;
    }
    ck_assert_uint_ge(verify_all(&files), last);
}
END_TEST

START_TEST(a_log_that_was_moved_away_goes_on_with_its_chain)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    char moved[80];
    size_t files;

    append(log, "{\"a\":1}");
    snprintf(moved, sizeof moved, "%s.1", path);
    ck_assert_int_eq(rename(path, moved), 0);
    append(log, "{\"a\":2}");
    ck_assert_uint_eq(read_log().first, 2);
    ck_assert_uint_eq(verify_all(&files), 2);
    ck_assert_uint_eq(files, 2);
}
END_TEST

START_TEST(a_file_that_is_no_log_is_left_as_it_is)
{
    static const char *const texts[] = { "dear diary", "dear diary\n", "{}\n", "{\"n\":1}\n" };
    const struct audit_options options = { 0 };

    for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
        AUTO(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        struct audit_log *log = NULL;
        struct fail fail = { 0 };
        char text[64];

        ck_assert_int_gt(write(fd, texts[i], strlen(texts[i])), 0);
        ck_assert_int_eq(audit_open(path, &options, &log, &fail), ABX_ERR_IO);
        ck_assert_str_eq(fail.step, "audit:open");
        file_text(text, sizeof text);
        ck_assert_str_eq(text, texts[i]);
    }
}
END_TEST

static void
expect_refusal(struct audit_log *log, const char *why)
{
    const struct audit_options options = { 0 };
    struct audit_log *other = NULL;
    struct fail fail = { 0 };

    ck_assert_int_eq(audit_open(path, &options, &other, &fail), ABX_ERR_IO);
    ck_assert_msg(strstr(fail.text, why) != NULL, "%s", fail.text);
    ck_assert_str_ne(fail.remedy, "");
    ck_assert_int_eq(audit_append(log, "{\"a\":2}", &fail), ABX_ERR_IO);
    ck_assert_msg(strstr(fail.text, why) != NULL, "%s", fail.text);
}

START_TEST(a_log_with_another_name_or_open_to_others_takes_no_record)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    char second[80];

    append(log, "{\"a\":1}");
    snprintf(second, sizeof second, "%s.second", path);
    ck_assert_int_eq(link(path, second), 0);
    expect_refusal(log, "hard link");
    ck_assert_int_eq(count(), 1);
    ck_assert_int_eq(unlink(second), 0);
    ck_assert_int_eq(chmod(path, 0620), 0);
    expect_refusal(log, "mode 0620");
    ck_assert_int_eq(count(), 1);
    ck_assert_int_eq(chmod(path, 0600), 0);
    append(log, "{\"a\":3}");
    ck_assert_int_eq(count(), 3); /* and how many were lost */
}
END_TEST

/* ---- the disk; in place of libc's ---- */
static int disk_tells = -1, disk_waits = -1; /* pipe ends: that it is asked, and until it is done */
static int disk_error; /* what it says */

int
fdatasync(int fd)
{
    char byte = 0;

    if (disk_tells >= 0) {
        ck_assert_int_eq(write(disk_tells, &byte, 1), 1);
        ck_assert_int_eq(read(disk_waits, &byte, 1), 1);
    }
    errno = disk_error;
    return disk_error != 0 ? -1 : fsync(fd);
}

/* A writer whose record is on its way to the disk. */
static pid_t
write_slowly(int ret_asked[2], int ret_done[2])
{
    pid_t child;

    ck_assert_int_eq(pipe2(ret_asked, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(ret_done, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        struct audit_log *log = open_with(0, true);

        disk_tells = ret_asked[1];
        disk_waits = ret_done[0];
        append(log, "{\"a\":1}");
        _exit(0);
    }
    return child;
}

START_TEST(a_disk_that_takes_long_holds_up_nobody_else)
{
    AUTO(audit_closep) struct audit_log *log = NULL;
    int asked[2], done[2], status;
    pid_t child;
    char byte;

    audit_close(open_log());
    child = write_slowly(asked, done);
    ck_assert_int_eq(read(asked[0], &byte, 1), 1);
    log = open_log();
    append(log, "{\"a\":2}");
    append(log, "{\"a\":3}");
    ck_assert_int_eq(count(), 3);
    ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0); /* it still waits */
    ck_assert_int_eq(write(done[1], "", 1), 1);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    for (int i = 0; i < 2; i++) {
        close(asked[i]);
        close(done[i]);
    }
}
END_TEST

START_TEST(a_disk_that_fails_fails_the_append_and_it_is_counted)
{
    AUTO(audit_closep) struct audit_log *log = open_with(0, true);
    struct fail fail = { 0 };
    char text[4096];

    append(log, "{\"a\":1}");
    disk_error = EIO;
    ck_assert_int_eq(audit_append(log, "{\"a\":2}", &fail), ABX_ERR_IO);
    ck_assert_int_eq(fail.os_code, EIO);
    disk_error = 0;
    append(log, "{\"a\":3}");
    ck_assert_int_eq(count(), 4); /* and how many were lost */
    file_text(text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"type\":\"lost\""));
}
END_TEST

START_TEST(who_holds_the_lock_stops_records_and_no_host)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    AUTO(closep) int held = open(path, O_RDONLY | O_CLOEXEC);
    char text[4096];

    append(log, "{\"a\":1}");
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    for (int i = 0; i < 20; i++) { /* only the first waits */
        struct fail fail = { 0 };

        ck_assert_int_eq(audit_append(log, "{\"a\":2}", &fail), ABX_ERR_IO);
        ck_assert_int_eq(fail.os_code, ETIMEDOUT);
        ck_assert_str_eq(fail.step, "audit:write");
    }
    ck_assert_int_eq(flock(held, LOCK_UN), 0);
    append(log, "{\"a\":3}");
    ck_assert_int_eq(count(), 3);
    file_text(text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"records\":20}"));
}
END_TEST

/* With the one of a writer that died when it had just given the full file its second name. */
START_TEST(a_name_that_the_log_gave_itself_is_taken_off)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    char second[128];

    append(log, "{\"a\":1}");
    snprintf(second, sizeof second, "%s.%012d-%.8s", path, 1, log->chain.hash);
    ck_assert_int_eq(link(path, second), 0);
    append(log, "{\"a\":2}");
    ck_assert_int_eq(access(second, F_OK), -1);
    ck_assert_int_eq(count(), 2);
}
END_TEST

START_TEST(a_file_that_was_laid_where_the_log_goes_on_is_not_used)
{
    AUTO(audit_closep) struct audit_log *log = open_with(300, false);
    char laid[80], second[80];
    struct stat file;

    snprintf(laid, sizeof laid, "%s.new", path);
    snprintf(second, sizeof second, "%s.second", path);
    close(open(laid, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    ck_assert_int_eq(link(laid, second), 0);
    for (int i = 0; i < 4; i++) {
        append(log, "{\"type\":\"denial\"}");
    }
    ck_assert_uint_gt(read_log().first, 1);
    ck_assert_int_eq(stat(second, &file), 0);
    ck_assert_int_eq(file.st_size, 0);
}
END_TEST

START_TEST(a_break_has_its_file_line_and_byte)
{
    AUTO(audit_closep) struct audit_log *log = open_log();
    struct audit_file file;
    char text[4096];
    char *third;

    for (int i = 0; i < 4; i++) {
        append(log, "{\"a\":1}");
    }
    file_text(text, sizeof text);
    third = strchr(strchr(text, '\n') + 1, '\n') + 1;
    strstr(third, "\"a\"")[1] = 'b';
    set_text(text, strlen(text));
    file = read_log();
    ck_assert_uint_eq(file.state, ABX_AUDIT_BROKEN);
    ck_assert_uint_eq(file.line, 3);
    ck_assert_uint_eq(file.byte, (uint64_t)(third - text));
    ck_assert_uint_eq(file.last, 2);
    ck_assert_str_eq(file.problem, "the record was changed");
}
END_TEST

/* ---- redacting ---- */

static abx_status
redact(const char *records, uint64_t *ret_count, struct fail *fail)
{
    struct vec files;
    abx_status r = audit_redact(path, records, &files, fail);

    *ret_count = 0;
    for (size_t i = 0; i < files.count; i++) {
        *ret_count += vec_at(&files, struct redacted_file, i)->records;
    }
    redacted_done(&files);
    return r;
}

static uint64_t
redacted(const char *records)
{
    struct fail fail = { 0 };
    uint64_t count;

    ck_assert_msg(redact(records, &count, &fail) == ABX_OK, "%s", fail.text);
    return count;
}

static void
not_redacted(const char *records, abx_status status, const char *why)
{
    struct fail fail = { 0 };
    uint64_t count;

    ck_assert_int_eq(redact(records, &count, &fail), status);
    ck_assert_msg(strstr(fail.text, why) != NULL, "%s", fail.text);
}

/* Whether a text is in any file of the log. */
static bool
says(const char *text)
{
    char *files[256];
    size_t n = list_files(files, N_ELEMENTS(files) - 1);
    bool found = false;

    for (size_t i = 0; i < n; i++) {
        AUTO(closep) int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        char *bytes = calloc(1, 65536);

        ck_assert_int_ge(read(fd, bytes, 65535), 0);
        found |= strstr(bytes, text) != NULL;
        free(bytes);
        free(files[i]);
    }
    return found;
}

static void
append_names(struct audit_log *log, int first, int last)
{
    for (int i = first; i <= last; i++) {
        char body[64];

        snprintf(body, sizeof body, "{\"type\":\"denial\",\"target\":\"name-%d.\"}", i);
        append(log, body);
    }
}

START_TEST(what_is_redacted_is_gone_from_all_files_and_the_log_goes_on)
{
    AUTO(audit_closep) struct audit_log *log = open_with(700, false);
    char *files[256], before[512], after[512];
    size_t n, m;
    uint64_t last;

    append_names(log, 1, 20); /* its number of records is higher: each file but the first begins
                                 with one of its own */
    n = list_files(files, N_ELEMENTS(files) - 1);
    ck_assert_uint_gt(n, 3);
    ck_assert_int_eq(chmod(files[0], 0400), 0);
    last = verify_all(&m);
    snprintf(before, sizeof before, "%s", files[0]);
    for (size_t i = 0; i < n; i++) {
        free(files[i]);
    }
    ck_assert_uint_eq(redacted("1,2-2"), 2);
    ck_assert(!says("name-1.") && !says("name-2.") && says("name-3."));
    ck_assert(says("\"type\":\"redaction\"") && says("\"target\":\"1,2-2\"}"));
    ck_assert_uint_eq(verify_all(&m), last + 1);
    snprintf(after, sizeof after, "1-%llu", (unsigned long long)last);
    ck_assert_uint_eq(redacted(after), 18);
    ck_assert(!says("name-") && says("\"rotated\"") && says("\"target\":\"1,2-2\"}"));
    append_names(log, 21, 40); /* by one that had the file open */
    ck_assert(says("name-40."));
    ck_assert_uint_eq(verify_all(&m), last + 2 + 20 + m - n);
    {
        struct stat file;

        ck_assert_int_eq(stat(before, &file), 0);
        ck_assert_uint_eq(file.st_mode & 07777, 0400);
    }
}
END_TEST

START_TEST(what_was_redacted_before_is_no_new_act)
{
    AUTO(audit_closep) struct audit_log *log = open_log();

    append_names(log, 1, 3);
    ck_assert_uint_eq(redacted("2"), 1);
    ck_assert_int_eq(count(), 4);
    ck_assert_uint_eq(redacted("2"), 0);
    ck_assert_uint_eq(redacted("4"), 0); /* the act itself */
    ck_assert_int_eq(count(), 4);
    ck_assert_uint_eq(read_log().redacted, 1);
}
END_TEST

START_TEST(what_cannot_be_redacted_leaves_the_log_as_it_was)
{
    static const char *const lists[] = { "", "0", "x", "1,", ",1", "1-", "2-1", "1 ", "-1", "01",
        "99999999999999999999", "1-2-3" };
    AUTO(audit_closep) struct audit_log *log = open_log();
    char text[4096], now[4096], second[80];

    append_names(log, 1, 3);
    file_text(text, sizeof text);
    for (size_t i = 0; i < N_ELEMENTS(lists); i++) {
        not_redacted(lists[i], ABX_ERR_INVALID, "is no list of records");
    }
    not_redacted("4", ABX_ERR_INVALID, "records 1 to 3, not 4");
    not_redacted("2-9", ABX_ERR_INVALID, "records 1 to 3, not 9");
    snprintf(second, sizeof second, "%s.second", path);
    ck_assert_int_eq(link(path, second), 0);
    not_redacted("1", ABX_ERR_IO, "hard link");
    ck_assert_int_eq(unlink(second), 0);
    strstr(text, "name-2")[0] = 'N';
    set_text(text, strlen(text));
    not_redacted("1", ABX_ERR_IO, "line 2, byte");
    file_text(now, sizeof now);
    ck_assert_str_eq(now, text);
    ck_assert_int_eq(unlink(path), 0);
    not_redacted("1", ABX_ERR_IO, path);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* Whenever it dies, each record is there or redacted; asked for again all are. */
START_TEST(redacting_that_is_killed_loses_nothing_and_goes_on)
{
    size_t files;

    for (int round = 0; round < 20; round++) {
        AUTO(audit_closep) struct audit_log *log = open_with(5000, false);
        char list[32];
        pid_t child;

        append_names(log, 1, 100);
        snprintf(list, sizeof list, "1-%d", (int)log->chain.n - 50);
        child = fork();
        if (child == 0) {
            struct fail fail;
            uint64_t n;

            _exit(redact(list, &n, &fail) != ABX_OK);
        }
        for (int i = 0; i < round * 4; i++) { /* a moment that differs */
            read_log();
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        redacted(list);
        verify_all(&files);
        ck_assert(says("name-100."));
    }
}
END_TEST

START_TEST(writers_go_on_while_records_are_redacted)
{
    enum { WRITERS = 3, RECORDS = 200 };
    pid_t children[WRITERS];
    size_t files;
    uint64_t last = 0;

    audit_close(open_log());
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            AUTO(audit_closep) struct audit_log *log = open_with(9000, false);

            append_names(log, 1, RECORDS);
            _exit(0);
        }
    }
    while (last < WRITERS * RECORDS / 2) {
        struct audit_file file = read_log();
        char list[32];

        last = file.last > last ? file.last : last;
        snprintf(list, sizeof list, "1-%llu", (unsigned long long)(last == 0 ? 1 : last));
        if (last > 0) {
            redacted(list);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;

        waitpid(children[i], &status, 0);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_ge(verify_all(&files), WRITERS * RECORDS);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("audit");
    TCase *tcase = tcase_create("audit");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_is_appended_verifies_also_after_it_was_opened_again);
    tcase_add_test(tcase, a_change_of_any_byte_is_found);
    tcase_add_test(tcase, a_record_that_is_taken_out_is_missed);
    tcase_add_test(tcase, a_log_whose_oldest_records_were_taken_out_is_not_whole);
    tcase_add_test(tcase, the_first_record_follows_nothing);
    tcase_add_test(tcase, a_redacted_record_says_nothing_and_the_chain_is_whole);
    tcase_add_test(tcase, a_record_written_in_part_is_cut_off_and_no_earlier_one_is_lost);
    tcase_add_test(tcase, a_limit_of_the_hosts_files_fails_the_append_and_does_not_end_the_host);
    tcase_add_loop_test(
            tcase, a_disk_that_is_full_fails_the_append_and_leaves_the_log_as_it_was, 0, 2);
    tcase_add_test(tcase, a_full_disk_keeps_a_log_from_no_record_that_has_room);
    tcase_add_test(tcase, a_disk_that_takes_long_holds_up_nobody_else);
    tcase_add_test(tcase, a_disk_that_fails_fails_the_append_and_it_is_counted);
    tcase_add_test(tcase, what_is_recorded_is_shown_however_deep_it_is_nested);
    tcase_add_test(tcase, a_name_with_blanks_is_quoted);
    tcase_add_test(tcase, several_processes_append_to_one_log);
    tcase_add_test(tcase, writers_that_are_killed_leave_a_log_that_goes_on);
    tcase_add_test(tcase, a_full_log_goes_on_in_a_new_file_with_the_same_chain);
    tcase_add_test(tcase, what_is_written_through_to_the_disk_is_the_same_log);
    tcase_add_test(tcase, several_processes_go_on_in_the_same_new_files);
    tcase_add_test(tcase, writers_that_are_killed_while_a_file_is_new_lose_nothing);
    tcase_add_test(tcase, a_log_that_was_moved_away_goes_on_with_its_chain);
    tcase_add_test(tcase, a_file_that_is_no_log_is_left_as_it_is);
    tcase_add_test(tcase, a_log_with_another_name_or_open_to_others_takes_no_record);
    tcase_add_test(tcase, who_holds_the_lock_stops_records_and_no_host);
    tcase_add_test(tcase, a_name_that_the_log_gave_itself_is_taken_off);
    tcase_add_test(tcase, a_file_that_was_laid_where_the_log_goes_on_is_not_used);
    tcase_add_test(tcase, a_break_has_its_file_line_and_byte);
    tcase_add_test(tcase, what_is_redacted_is_gone_from_all_files_and_the_log_goes_on);
    tcase_add_test(tcase, what_was_redacted_before_is_no_new_act);
    tcase_add_test(tcase, what_cannot_be_redacted_leaves_the_log_as_it_was);
    tcase_add_test(tcase, redacting_that_is_killed_loses_nothing_and_goes_on);
    tcase_add_test(tcase, writers_go_on_while_records_are_redacted);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
