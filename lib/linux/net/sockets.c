/* SPDX-License-Identifier: Apache-2.0
 * A ring of device, inode and time of birth: an inode number that is used again has another birth.
 * Owns the ring. */
#include "linux/net/sockets.h"

#include "base/mem.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/un.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

struct identity {
    uint64_t device, inode;
    int64_t born;
    uint32_t born_ns;
};

struct sockets {
    pthread_mutex_t lock;
    struct identity *known; /* made with the first socket */
    size_t count, next;
};

struct sockets *
sockets_new(void)
{
    struct sockets *sockets = calloc(1, sizeof *sockets);

    if (sockets != NULL) {
        pthread_mutex_init(&sockets->lock, NULL);
    }
    return sockets;
}

void
sockets_free(struct sockets *sockets)
{
    if (sockets != NULL) {
        pthread_mutex_destroy(&sockets->lock);
        free(sockets->known);
        free(sockets);
    }
}

static bool
identify(int object, struct identity *ret_identity)
{
    struct statx seen = { 0 };

    if (statx(object, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_TYPE | STATX_BTIME,
                &seen) < 0 ||
            !S_ISSOCK(seen.stx_mode)) {
        return false;
    }
    *ret_identity = (struct identity){
        .device = (uint64_t)seen.stx_dev_major << 32 | seen.stx_dev_minor,
        .inode = seen.stx_ino,
        .born = (seen.stx_mask & STATX_BTIME) != 0 ? seen.stx_btime.tv_sec : 0,
        .born_ns = (seen.stx_mask & STATX_BTIME) != 0 ? seen.stx_btime.tv_nsec : 0,
    };
    return true;
}

void
sockets_add(struct sockets *sockets, int socket)
{
    AUTO(closep) int object = ioctl(socket, SIOCUNIXFILE);
    struct identity identity;

    if (object < 0 || !identify(object, &identity)) {
        return;
    }
    pthread_mutex_lock(&sockets->lock);
    if (sockets->known == NULL) {
        sockets->known = calloc(SOCKETS_KNOWN, sizeof *sockets->known);
    }
    if (sockets->known != NULL) {
        sockets->known[sockets->next] = identity;
        sockets->next = (sockets->next + 1) % SOCKETS_KNOWN;
        sockets->count += sockets->count < SOCKETS_KNOWN;
    }
    pthread_mutex_unlock(&sockets->lock);
}

bool
sockets_have(struct sockets *sockets, int object)
{
    struct identity identity;
    bool found = false;

    if (!identify(object, &identity)) {
        return false;
    }
    pthread_mutex_lock(&sockets->lock);
    for (size_t i = 0; i < sockets->count && !found; i++) {
        const struct identity *known = &sockets->known[i];

        found = known->device == identity.device && known->inode == identity.inode &&
                known->born == identity.born && known->born_ns == identity.born_ns;
    }
    pthread_mutex_unlock(&sockets->lock);
    return found;
}
