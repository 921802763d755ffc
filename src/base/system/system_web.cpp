#include <wasi/api.h>

#include "base/paths.h"
#include "base/system/files.h"
#include "base/system/machine.h"
#include "base/system/process.h"
#include "base/system/threads.h"
#include "gpt2/runtime.h"

// WebAssembly: there are no files and no processes, and there is one thread.

namespace gpt2 {

ReadableFile::ReadableFile(const std::filesystem::path&) : file_(-1) {
  throw FileFailure{"cannot open", std::make_error_code(std::errc::no_such_file_or_directory)};
}
ReadableFile::~ReadableFile() = default;
std::shared_ptr<const void> ReadableFile::map() const { return nullptr; }
std::size_t ReadableFile::read(std::byte*, std::size_t, std::uint64_t) const { return 0; }

void allow_large_pages(void*, std::size_t) noexcept {}
void drop_mapped_pages(const void*, std::size_t) noexcept {}
std::filesystem::path path_of(std::string_view text) { return text; }

CpuSet cpus_of_thread() noexcept { return 1; }
int cores_of(const std::vector<int>&) { return 1; }
double cpu_quota() { return 0.0; }
bool may_use_tiles() noexcept { return false; }
bool has_dot_products() noexcept { return false; }
// A 32-bit memory has 4 GiB, and nothing says how much of it the machine would give.
std::size_t available_memory() { return std::size_t{1} << 31; }

int process_id() noexcept { return 1; }
bool fill_with_random(std::span<std::byte> bytes) noexcept {
  return __wasi_random_get(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()) == 0;
}
const char* const kHomeVariable = "HOME";
std::filesystem::path path_in_environment(const char*) { return {}; }
std::filesystem::path home_directory() { return {}; }
std::filesystem::path program_file() { return {}; }
std::filesystem::path library_file() { return {}; }
const BuiltInFile* find_built_in(const std::filesystem::path&) { return nullptr; }

void wait_while(const std::atomic<int>&, int) noexcept {}
void wake_one(std::atomic<int>&) noexcept {}
void wake_all(std::atomic<int>&) noexcept {}
void start_without_signals(const std::function<void()>& start) { start(); }
int spare_threads(int) noexcept { return -1; }

// The state cannot be changed: it is the default.
void set_default_float_state() noexcept {}
DefaultFloatState::DefaultFloatState() noexcept = default;
DefaultFloatState::~DefaultFloatState() = default;

}  // namespace gpt2
