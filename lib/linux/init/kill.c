/* SPDX-License-Identifier: Apache-2.0
 * Signals to a command: to the process group of its leader, and SIGKILL to all of its session and
 * to their descendants.  What is found is stopped first, so that nothing can fork away while the
 * list is made; pidfds make sure that a number that was given out anew is not hit. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#define ROUNDS 64
#define DIRECTORY_ROOM 4096
#define NO_SESSION (-1)

/* linux_dirent64 */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

struct process {
    struct marked id;
    int32_t parent, session;
    char state;
};

static uint64_t
read_number(const char *text)
{
    uint64_t value = 0;

    while (*text >= '0' && *text <= '9') {
        value = value * 10 + (uint64_t)(*text++ - '0');
    }
    return value;
}

/* proc(5): "PID (NAME) STATE PARENT GROUP SESSION ...", the 22nd is the time of its start; NAME may
 * hold anything, also ')'. */
static bool
parse_stat(const char *text, size_t length, struct process *process)
{
    const char *t = text + length;
    int field = 2;

    while (t > text && *t != ')') {
        t--;
    }
    for (; *t != '\0' && field < 22; t++) {
        if (*t != ' ') {
            continue;
        }
        field++;
        if (field == 3) {
            process->state = t[1];
        } else if (field == 4) {
            process->parent = (int32_t)read_number(t + 1);
        } else if (field == 6) {
            process->session = (int32_t)read_number(t + 1);
        } else if (field == 22) {
            process->id.started = read_number(t + 1);
        }
    }
    return field == 22;
}

/* 0: not a number. */
static int32_t
read_pid(const char *name)
{
    size_t length = strlen(name);
    uint64_t pid = length < 10 ? read_number(name) : 0;

    return name[0] >= '1' && name[0] <= '9' ? (int32_t)pid : 0;
}

static bool
read_process(const struct init *init, int32_t pid, struct process *process)
{
    char path[16] = "/stat";
    char text[512];
    char digits[12];
    size_t n = 0;
    long length;
    int fd;

    for (int32_t p = pid; p > 0; p /= 10) {
        digits[n++] = (char)('0' + p % 10);
    }
    for (size_t i = 0; i < n; i++) {
        path[i] = digits[n - 1 - i];
    }
    memcpy(path + n, "/stat", sizeof "/stat");
    fd = sys_openat(init->proc, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    length = sys_read(fd, text, sizeof text - 1);
    sys_close(fd);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    process->id.pid = pid;
    return parse_stat(text, (size_t)length, process);
}

static bool
is_marked(const struct init *init, int n_marked, int32_t pid)
{
    for (int i = 0; i < n_marked; i++) {
        if (init->marked[i].pid == pid) {
            return true;
        }
    }
    return false;
}

/* Only to the process that was meant, not to another that got its number since. */
static void
signal_process(const struct init *init, const struct marked *id, int signal)
{
    struct process process;
    int pidfd = (int)SYS(pidfd_open, id->pid, 0, 0, 0, 0, 0);

    if (pidfd < 0) {
        return;
    }
    if (read_process(init, id->pid, &process) && process.id.started == id->started) {
        SYS(pidfd_send_signal, pidfd, signal, 0, 0, 0, 0);
    }
    sys_close(pidfd);
}

/* Stops and marks one more process if it belongs to the session: the new number of marked ones. */
static int
consider(struct init *init, const char *name, int32_t session, int n_marked)
{
    struct process process;
    int32_t pid = read_pid(name);

    if (pid <= 1 || n_marked == INIT_MARKED || is_marked(init, n_marked, pid) ||
            !read_process(init, pid, &process) || process.state == 'Z' || process.state == 'X' ||
            (process.session != session && !is_marked(init, n_marked, process.parent))) {
        return n_marked;
    }
    signal_process(init, &process.id, SYS_SIGSTOP);
    init->marked[n_marked] = process.id;
    return n_marked + 1;
}

static int
mark_pass(struct init *init, int32_t session, int n_marked)
{
    _Alignas(struct entry) char buffer[DIRECTORY_ROOM];
    int fd = sys_openat(init->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    while (fd >= 0) {
        long n = SYS(getdents64, fd, buffer, sizeof buffer, 0, 0, 0);

        if (n <= 0) {
            sys_close(fd);
            break;
        }
        for (long i = 0; i < n;) {
            const struct entry *entry = (const struct entry *)(const void *)(buffer + i);

            n_marked = consider(init, entry->name, session, n_marked);
            i += entry->size;
        }
    }
    return n_marked;
}

/* One round: marks until nothing new is found, then kills what was marked beyond the first
 * `n_known`. How many that were. */
static int
kill_round(struct init *init, int32_t session, int n_known)
{
    int n_marked = n_known;
    int before;

    do {
        before = n_marked;
        n_marked = mark_pass(init, session, n_marked);
    } while (n_marked > before && n_marked < INIT_MARKED);
    for (int i = n_known; i < n_marked; i++) {
        signal_process(init, &init->marked[i], SYS_SIGKILL);
    }
    return n_marked - n_known;
}

/* The leader is not reaped yet, so its number still means this session and this group.  It must not
 * be killed before its children are found: they would be init's then.  Without a proc of its own
 * the box cannot be searched, and the group is all that can be told apart. */
void
init_kill(struct init *init, const struct seat_slot *slot, int signal)
{
    if (signal != SYS_SIGKILL || init->proc < 0) {
        SYS(kill, -slot->pid, signal, 0, 0, 0, 0);
        return;
    }
    for (int i = 0; i < ROUNDS && kill_round(init, slot->pid, 0) > 0; i++) {
    }
}

/* A proc of another pid namespace would mean other processes. */
void
init_find_proc(struct init *init)
{
    char self[16] = { 0 };
    int fd = sys_openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd >= 0 && SYS(readlinkat, fd, "self", self, sizeof self - 1, 0, 0) > 0 &&
            read_pid(self) == init->pid) {
        init->proc = fd;
    } else if (fd >= 0) {
        sys_close(fd);
    }
}

void
init_kill_all(struct init *init)
{
    init->marked[0] = (struct marked){ .pid = init->pid };
    for (int i = 0; init->proc >= 0 && i < ROUNDS && kill_round(init, NO_SESSION, 1) > 0; i++) {
    }
}
