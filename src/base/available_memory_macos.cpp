#include <mach/mach.h>

#include <cstdint>

#include "gpt2/runtime.h"

namespace gpt2 {

// Inactive pages belong to files and programs that have not used them for a while. The system takes
// them away, or compresses them, for whoever needs memory.
std::size_t available_memory() {
  vm_statistics64 statistics = {};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const mach_port_t host = mach_host_self();
  const kern_return_t result =
      host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics), &count);
  mach_port_deallocate(mach_task_self(), host);
  if (result != KERN_SUCCESS) return SIZE_MAX;
  return (std::size_t{statistics.free_count} + statistics.inactive_count) * vm_page_size;
}

}  // namespace gpt2
