/* SPDX-License-Identifier: Apache-2.0
 *
 * emit/emitters.h - the functions behind emit/emitters.def. Private to this folder.
 */
#ifndef CHM_EMIT_EMITTERS_H
#define CHM_EMIT_EMITTERS_H

#include "emit/emit.h"

#define CHM_EMITTER(name, takes_driver, what) ChmEmitFn chm_emit_##name;
#include "emit/emitters.def"
#undef CHM_EMITTER

#endif
