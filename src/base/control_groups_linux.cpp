#include "base/control_groups.h"

#include <cstddef>
#include <fstream>

namespace gpt2 {

// A line of the file is "3:cpu,cpuacct:/group", or "0::/group" for version 2.
std::vector<std::string> control_groups(const std::string& controller) {
  const std::string root = "/sys/fs/cgroup";
  std::vector<std::string> directories = {root, root + '/' + controller};
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool is_version_2 = controllers == ",,";
    if (!is_version_2 && controllers.find(',' + controller + ',') == line.npos) continue;
    std::string group = line.substr(second + 1);
    for (; group.size() > 1 && group.starts_with('/'); group.resize(group.rfind('/'))) {
      directories.push_back(directories[is_version_2 ? 0 : 1] + group);
    }
  }
  return directories;
}

}  // namespace gpt2
