/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux: the host's file system for policy and plan, and what the host can do. */
#ifndef ABX_LINUX_HOST_H
#define ABX_LINUX_HOST_H

#include "base/host.h"
#include "plan/capabilities.h"

/* Tries it once in this process; later calls copy.  Any thread.  0, or -errno when it could not be
 * tried for want of memory, descriptors or processes.
 *
 * For tests only, AGENTBOX_TEST_CAPS lowers what was found ("landlock=0,notify=0,fuse=0,netns=0,
 * proc=0,userns=0,killable=0,sync=0,memfd=0,cgroup=0"); nothing can be raised, and set-user-id
 * programs do not look at it. */
int host_probe(struct capabilities *ret_capabilities);
/* The rung that these capabilities reach. */
enum rung host_rung(const struct capabilities *capabilities);

#endif
