#pragma once

#include <string>
#include <vector>

namespace gpt2 {

/// Returns the directories of the control groups of this process that have `controller`, such as
/// "cpu", and of the groups that contain these: a limit of any of them applies. They are those of
/// version 2 and of version 1. A directory need not exist: in a container, the system may name
/// groups that lie outside of it.
[[nodiscard]] std::vector<std::string> control_groups(const std::string& controller);

}  // namespace gpt2
