/* SPDX-License-Identifier: Apache-2.0
 *
 * forms_net.c - the three forms of net.py: two emitted units, one of which has the plan as written besides.
 */
#include "forms.h"

int ours_main(int argc, char **argv);
int chimera_main(int argc, char **argv);

int main(int argc, char **argv)
{
    const ChrtDriver *ours = forms_driver(ours_main), *chimera = forms_driver(chimera_main);
    const Form forms[] = {{"written", &ours->baseline}, {"chimera", &chimera->optimized}, {"ours", &ours->optimized}};
    return forms_main(argc, argv, ours, forms, 3);
}
