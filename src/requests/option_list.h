#pragma once

#include "gpt2/generate.h"
#include "requests/json_text.h"

namespace gpt2 {

/// Returns the table of options as JSON, so that a program can show them to people: an array with
/// an object for each row, in the order of the table.
///   name              as requests call it
///   role, origin      as in OptionRole and OptionOrigin
///   type              "boolean", "integer", "number", "choice", "texts", or "json" for any other
///   choices           the values of a choice
///   min, max, also    the range of an integer or a number
///   form              what the value may be, in words
///   default           the value in `defaults`, those of a request
///   command_default   the value in `of_command`, those of `gpt2 generate`
///   help              one line
[[nodiscard]] Json option_list(const GenerationOptions& defaults,
                               const GenerationOptions& of_command);

}  // namespace gpt2
