/* SPDX-License-Identifier: Apache-2.0
 * A plan says what a box is, as data: which places of the file system are seen how, what is
 * private, what is limited.  It is compiled from a resolved policy, the host view and the
 * capabilities, and lowered by a backend to its own program.  Paths are absolute and canonical. */
#ifndef ABX_PLAN_PLAN_H
#define ABX_PLAN_PLAN_H

#include "plan/capabilities.h"
#include "policy/policy.h"

/* A place at which the view of the file system changes.  Sorted by path (strcmp), so
 * ancestors come first; the first is "/".  Places that do not exist, symbolic links and what lies
 * behind one are not in the list.  Children of a guarded directory that may be written are in it.
 */
struct place {
    char *path;
    bool is_directory;
    uint8_t read, write; /* abx_verdict */
    bool no_exec; /* an exec rule denies it: execution is refused by the kernel too */
    bool guarded; /* writable directory in which a protected name could appear, or a file that only
                     some calls may write: read-only mount, writing calls are done by the broker */
    bool by_default; /* read is denied by default, not by a rule: missing names stay missing */
};

/* A directory or file that is the box's own: nothing of the host is seen there. */
enum private_kind {
    PRIVATE_TMPFS,
    PRIVATE_DEV,
    PRIVATE_PROC,
    PRIVATE_FILE,
    PRIVATE_SOCKET, /* stands for the host's socket of this path, which the box may connect to */
    PRIVATE_BUNDLE, /* authorities that programs of the box believe, PEM */
    PRIVATE_TRUSTSTORE /* the same for Java */
};
/* Where these two stand in every box that has them; they lie over the system's too. */
#define TRUST_BUNDLE "/run/agentbox/ca-certificates.crt"
#define TRUST_STORE "/run/agentbox/cacerts"

struct private_place {
    char *path;
    enum private_kind kind;
    bool writable; /* PRIVATE_TMPFS */
    char *content; /* PRIVATE_FILE: /etc/hosts and the like */
};
bool private_is_directory(const struct private_place *own);

/* A symbolic link directly below "/" that may be seen, where the root is not the host's. */
struct plan_link {
    char *path, *target;
};

/* What stands at "/". */
enum plan_root {
    ROOT_HOST, /* the host's tree, read-only */
    ROOT_MASK, /* "/" may not be read: the mask.  It serves every ancestor of a place, a private
                  place or an input, and those themselves, as something to mount over; and the
                  symbolic links that may be read ("/bin") */
    ROOT_PIECES /* a tmpfs with the visible top-level entries: no mask, or a new top-level directory
                 */
};

struct plan {
    enum plan_root root;
    struct vec places; /* struct place */
    struct vec privates; /* struct private_place, sorted by path; they lie over the places */
    struct vec links; /* struct plan_link */
    struct vec
            guards; /* char *: write-denied or asked literal paths inside writable roots, sorted */
    struct vec git_roots; /* char *: git directories, whether they exist or not, sorted */
    struct vec
            git_trees; /* char *: below them every ".git" is one too, whenever it comes; sorted */
    struct vec git_inside; /* char *: those that stood there when the plan was made, as far as
                              looked */
    struct vec patterns; /* char *: those that deny or ask about writes */
    bool guard_patterns; /* there are some: every directory is guarded */
    bool read_patterns; /* every open is decided by the broker */
    bool mask; /* denied reads are served by the mask; else covered by something empty */
    bool silent_reads;
    bool decide_exec;
    bool restrict_exec; /* only places with exec allow run */
    struct vec exec_allowed; /* char *: literal paths */
    struct vec inputs; /* struct plan_input */
    struct vec decoys; /* char * */
    enum network_mode network;
    char *bundle; /* the host's file of authorities, which the box's contains; NULL: none */
    struct vec host_ports; /* uint16_t: of the host's loopback, that the box has at its own */
    uint64_t limits[8];
    struct capabilities capabilities;
    char *hostname;
};

struct plan_input {
    char *from; /* host */
    char *as; /* absolute in the box, "/task/in/q3.xlsx" */
};

/* Fails with ABX_ERR_UNSUPPORTED, the rule and the remedy where the rung lacks what a rule needs.
 */
abx_status plan_compile(abx_policy *resolved, const struct host_view *host,
        const struct capabilities *capabilities, struct plan *ret_plan, struct fail *fail);
void plan_done(struct plan *plan);
/* One line per fact, stable, for golden files and the audit hash.  Caller frees; NULL: no memory.
 */
char *plan_dump(const struct plan *plan);

/* Whether the box has mounts of its own: every rung but C. */
bool plan_has_mounts(const struct plan *plan);
/* Whether the box has a network of its own; else it is in the host's. */
bool plan_has_network(const struct plan *plan);
/* Whether a gateway is behind its own network, where everything that leaves the box arrives. */
bool plan_has_gateway(const struct plan *plan);
/* Whether it is in the host's for want of one, so that nothing but the broker confines it there. */
bool plan_shares_network(const struct plan *plan);
/* Whether the box has this port of the host's loopback at its own. */
bool plan_has_host_port(const struct plan *plan, uint32_t port);
/* Whether the path stands for a socket of the host. */
bool plan_is_host_socket(const struct plan *plan, const char *path);
/* Whether programs of the box believe more than those of the host; then it has the files above. */
bool plan_adds_trust(const struct plan *plan);
/* The place that decides about a path: the deepest one at it or above. */
const struct place *plan_place_of(const struct plan *plan, const char *path);
/* For new directories: whether a protected name could appear below. */
bool plan_guards(const struct plan *plan, const char *directory);
/* The same without patterns, which go with what is moved: for directories that take another name.
 */
bool plan_guards_names(const struct plan *plan, const char *directory);
/* Whether a symbolic link at `link` that leads to `target` (NULL: that is not known) shows nothing
 * under a name that patterns protect, unless they protect it where it is, too. */
bool plan_allows_link(const struct plan *plan, const char *link, const char *target);
/* Whether git takes the path for something that is not free (policy/gitdir.h). */
bool plan_guards_git_file(const struct plan *plan, const char *path);
/* Whether a name that git takes for something not free could be below. */
bool plan_guards_git(const struct plan *plan, const char *directory);
/* Whether git would take what stands there for its directory, or for what leads to one. */
bool plan_is_git_link(const struct plan *plan, const char *path);
/* Whether the kernel lets the box make names there and open files for writing.  Where a name would
 * be a git directory wherever it comes, Landlock gives no right to that, since a path can be
 * changed after it was looked at, and a descriptor may lead around a mount: the broker does it all.
 * A private place is the box's own, unless a writable root lies in it: Landlock gives rights to all
 * that is below. */
bool plan_lets_write(const struct plan *plan, const char *path);
/* How names in git directories begin that no box may touch: judged content on its way. */
extern const char *const plan_copy_prefix;
/* The devices that every box has; NULL-terminated. */
extern const char *const plan_devices[];
/* Whether it is one of them, or a terminal. */
bool plan_is_device(const char *path);
/* Whether the path lies in a private place: the box's own, the host has another thing there.
 * A place bound inside a private one (a workspace below /tmp) is not private.  Without mounts
 * nothing is but the devices that every box has. */
bool plan_is_private(const struct plan *plan, const char *path);

#endif
