#define _CRT_RAND_S  // declares rand_s
#include <immintrin.h>
#include <process.h>
#include <stdlib.h>
#include <windows.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/paths.h"
#include "base/system/files.h"
#include "base/system/last_error_windows.h"
#include "base/system/machine.h"
#include "base/system/process.h"
#include "base/system/threads.h"
#include "gpt2/runtime.h"

namespace gpt2 {

// -- files.h

namespace {

HANDLE handle_of(std::intptr_t file) { return reinterpret_cast<HANDLE>(file); }

}  // namespace

// Without FILE_FLAG_BACKUP_SEMANTICS, a directory could not be opened. Others may rename or remove
// the file while it is open, as on other systems.
ReadableFile::ReadableFile(const std::filesystem::path& path) {
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) throw FileFailure{"cannot open", last_error()};
  file_ = reinterpret_cast<std::intptr_t>(file);
  if (GetFileType(file) != FILE_TYPE_DISK) return;
  BY_HANDLE_FILE_INFORMATION status;
  if (!GetFileInformationByHandle(file, &status)) {
    const FileFailure failure{"cannot examine", last_error()};
    CloseHandle(file);
    throw failure;
  }
  const bool is_directory = (status.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  kind_ = is_directory ? Kind::directory : Kind::regular;
  size_ = std::uint64_t{status.nFileSizeHigh} << 32 | status.nFileSizeLow;
}

ReadableFile::~ReadableFile() { CloseHandle(handle_of(file_)); }

std::shared_ptr<const void> ReadableFile::map() const {
  const HANDLE mapping =
      CreateFileMappingW(handle_of(file_), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) throw FileFailure{"cannot map", last_error()};
  const void* const address = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  const FileFailure failure{"cannot map", last_error()};
  CloseHandle(mapping);  // the view keeps the mapping
  if (address == nullptr) throw failure;
  return {address, [](const void* mapped) { UnmapViewOfFile(mapped); }};
}

std::size_t ReadableFile::read(std::byte* bytes, std::size_t count, std::uint64_t offset) const {
  constexpr std::size_t kMaxCount = 1 << 30;
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD read = 0;
  if (ReadFile(handle_of(file_), bytes, static_cast<DWORD>(std::min(count, kMaxCount)), &read,
               &place)) {
    return read;
  }
  if (GetLastError() == ERROR_HANDLE_EOF) return 0;
  throw FileFailure{"cannot read", last_error()};
}

// Windows gives large pages only to users with a privilege, and only as a whole.
void allow_large_pages(void*, std::size_t) noexcept {}

// To unlock pages that are not locked removes them from the memory of the process; it then fails.
void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept {
  VirtualUnlock(const_cast<void*>(begin), bytes);
}

std::filesystem::path path_of(std::string_view text) {
  const int bytes = static_cast<int>(text.size());
  const int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0);
  std::wstring wide(static_cast<std::size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, wide.data(), length);
  return wide;
}

// -- machine.h

namespace {

// Windows numbers the CPUs in groups of up to 64.
constexpr std::size_t kGroup = 64;

void add(CpuSet& cpus, const GROUP_AFFINITY& group) {
  for (std::size_t i = 0; i < kGroup; ++i) {
    const std::size_t cpu = kGroup * group.Group + i;
    if ((group.Mask >> i & 1) != 0 && cpu < cpus.size()) cpus.set(cpu);
  }
}

// Returns the CPUs of each core of the machine, or nothing if the system does not say.
std::vector<CpuSet> cores_of_machine() {
  using Record = SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;
  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  std::vector<std::byte> records(bytes);
  const auto record_at = [&](std::size_t at) { return reinterpret_cast<Record*>(&records[at]); };
  std::vector<CpuSet> cores;
  if (bytes == 0 ||
      !GetLogicalProcessorInformationEx(RelationProcessorCore, record_at(0), &bytes)) {
    return cores;
  }
  for (std::size_t at = 0; at < bytes; at += record_at(at)->Size) {
    const PROCESSOR_RELATIONSHIP& core = record_at(at)->Processor;
    CpuSet cpus;
    for (WORD i = 0; i < core.GroupCount; ++i) add(cpus, core.GroupMask[i]);
    cores.push_back(cpus);
  }
  return cores;
}

}  // namespace

CpuSet cpus_of_thread() noexcept {
  CpuSet cpus;
  GROUP_AFFINITY group = {};
  if (GetThreadGroupAffinity(GetCurrentThread(), &group)) add(cpus, group);
  return cpus;
}

int cores_of(const std::vector<int>& cpus) {
  CpuSet usable;
  for (const int cpu : cpus) usable.set(static_cast<std::size_t>(cpu));
  const std::vector<CpuSet> cores = cores_of_machine();
  const auto count =
      std::ranges::count_if(cores, [&](const CpuSet& core) { return (core & usable).any(); });
  return std::max(1, static_cast<int>(cores.empty() ? usable.count() : count));
}

// A job object may have a limit, but its CPU time is a share of a time that Windows does not tell.
double cpu_quota() { return 0.0; }

// Windows 11 has a function that permits it, but nobody has tried the kernels with tiles there.
bool may_use_tiles() noexcept { return false; }

// The page file counts, too: without room in it, Windows gives a process no memory.
std::size_t available_memory() {
  MEMORYSTATUSEX status = {};
  status.dwLength = sizeof status;
  if (!GlobalMemoryStatusEx(&status)) return SIZE_MAX;
  return static_cast<std::size_t>(std::min(status.ullAvailPhys, status.ullAvailPageFile));
}

// -- process.h

namespace {

// Returns the file of the program (null) or of a library.
std::filesystem::path file_of(HMODULE module) {
  constexpr std::size_t kMaxPath = 32768;
  std::wstring name(kMaxPath, L'\0');
  name.resize(GetModuleFileNameW(module, name.data(), static_cast<DWORD>(kMaxPath)));
  return name;
}

}  // namespace

int process_id() noexcept { return _getpid(); }

bool fill_with_random(std::span<std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    unsigned int bits = 0;
    if (rand_s(&bits) != 0) return false;
    const std::size_t count = std::min(bytes.size(), sizeof bits);
    std::memcpy(bytes.data(), &bits, count);
    bytes = bytes.subspan(count);
  }
  return true;
}

const char* const kHomeVariable = "USERPROFILE";

// getenv() would return the value in the code page of the process, which lacks most characters. A
// program that loads the library chooses that code page.
std::filesystem::path path_in_environment(const char* name) {
  const wchar_t* const value = _wgetenv(path_of(name).c_str());
  return value == nullptr ? L"" : value;
}

std::filesystem::path home_directory() { return path_in_environment(kHomeVariable); }

std::filesystem::path program_file() { return file_of(nullptr); }

std::filesystem::path library_file() {
  HMODULE library = nullptr;
  GetModuleHandleExW(
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
      reinterpret_cast<LPCWSTR>(&kHomeVariable), &library);
  return file_of(library);
}

const BuiltInFile* find_built_in(const std::filesystem::path&) { return nullptr; }

// -- threads.h

namespace {

// The system may look for sleeping threads only after the number has changed for all of them.
void* changed(std::atomic<int>& number) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return &number;
}

}  // namespace

void wait_while(const std::atomic<int>& number, int old) noexcept {
  static_assert(sizeof number == sizeof old);
  void* const address = const_cast<std::atomic<int>*>(&number);
  while (number.load(std::memory_order_acquire) == old) {
    WaitOnAddress(address, &old, sizeof old, INFINITE);
  }
}

void wake_one(std::atomic<int>& number) noexcept { WakeByAddressSingle(changed(number)); }
void wake_all(std::atomic<int>& number) noexcept { WakeByAddressAll(changed(number)); }

// Windows has no signals that a thread could receive.
void start_without_signals(const std::function<void()>& start) { start(); }

namespace {

constexpr unsigned kDefaultVectorState = 0x1f80;  // rounds to nearest, keeps denormals, never traps

}  // namespace

// mingw's fesetenv never writes MXCSR, the register with the state of vector instructions.
void set_default_float_state() noexcept {
  std::fesetenv(FE_DFL_ENV);
  _mm_setcsr(kDefaultVectorState);
}

DefaultFloatState::DefaultFloatState() noexcept {
  std::fegetenv(&callers_);
  callers_.__mxcsr = _mm_getcsr();  // not used by mingw
  set_default_float_state();
}

DefaultFloatState::~DefaultFloatState() {
  std::fesetenv(&callers_);
  _mm_setcsr(callers_.__mxcsr);
}

// Windows does not limit the threads of a process, and takes memory for the stack of a thread only
// when the thread uses it.
int spare_threads(int wanted) noexcept { return wanted; }

}  // namespace gpt2
