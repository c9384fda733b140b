/* SPDX-License-Identifier: Apache-2.0
 * main() of a unit test: `UNIT_MAIN(make_suite)`.  A test has a minute where its case says nothing:
 * Check's own 4 seconds are too few on a machine with other work. */
#ifndef ABX_TESTS_UNIT_MAIN_H
#define ABX_TESTS_UNIT_MAIN_H

#include <check.h>
#include <stdlib.h>

/* clang-format off */
#define UNIT_MAIN(make_suite)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        SRunner *runner;                                                                           \
        int failed;                                                                                \
                                                                                                   \
        setenv("CK_DEFAULT_TIMEOUT", "60", 0);                                                     \
        runner = srunner_create(make_suite());                                                     \
        srunner_run_all(runner, CK_NORMAL);                                                        \
        failed = srunner_ntests_failed(runner);                                                    \
        srunner_free(runner);                                                                      \
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                          \
    }

/* clang-format on */

#endif
