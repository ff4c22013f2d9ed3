/* SPDX-License-Identifier: Apache-2.0
 *
 * diag/render.h - what the renderers of diagnostics and of remarks share. Private to this folder.
 */
#ifndef CHM_DIAG_RENDER_H
#define CHM_DIAG_RENDER_H

#include "diag/diag.h"

/* Text on one line: valid UTF-8 as it is, control and invalid bytes as '?'. */
void chm_render_text(ChmOut *out, const char *text);

/* "file:line:col: "; nothing without a place. */
void chm_render_place(ChmOut *out, ChmSpan span);

#endif
