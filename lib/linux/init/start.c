/* SPDX-License-Identifier: Apache-2.0
 * The entry point, the system call and what the compiler expects of a libc.  Everything that
 * depends on the machine is here.  Not in tests, which bring a sys_call of their own. */
#include "linux/init/sys.h"

_Noreturn void init_main(void);

#if defined(__x86_64__)
__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    and $-16, %rsp\n"
        "    call init_main\n"
        "    ud2\n");

long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n"
        "_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    bl init_main\n"
        "    brk #1\n");

long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}
#else
#    error "agentbox-init has no system call stub for this machine"
#endif

/* The empty asm keeps the compiler from making a call to memcpy out of memcpy. */
void *
memcpy(void *to, const void *from, size_t size)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    for (size_t i = 0; i < size; i++) {
        t[i] = f[i];
        __asm__ volatile("");
    }
    return to;
}

void *
memset(void *to, int byte, size_t size)
{
    unsigned char *t = to;

    for (size_t i = 0; i < size; i++) {
        t[i] = (unsigned char)byte;
        __asm__ volatile("");
    }
    return to;
}

size_t
strlen(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0') {
        length++;
        __asm__ volatile("");
    }
    return length;
}
