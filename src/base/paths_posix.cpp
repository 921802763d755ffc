#include "base/paths.h"

namespace gpt2 {

std::filesystem::path path_of(std::string_view text) { return text; }

}  // namespace gpt2
