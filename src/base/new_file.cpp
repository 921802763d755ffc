#include "base/new_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "base/bytes.h"
#include "base/fail.h"
#include "base/paths.h"
#include "base/process_id.h"
#include "base/reason.h"

namespace gpt2 {

namespace fs = std::filesystem;

NewFile::NewFile(const fs::path& file) : given_(file) {
  if (file.empty()) reject("the name of the file to write is empty");
  refuse_nul(file);
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    fail(ErrorCode::invalid_argument, file.string(),
         fs::is_directory(status) ? "is a directory" : "is not a regular file",
         "; choose another name");
  }
  std::error_code error;
  file_ = fs::absolute(link_target(file), error);
  if (!error) file_ = fs::weakly_canonical(file_, error);
  if (error) refuse(reason_of(error));
  partial_ = file_;
  partial_ += concat(".partial-", process_id());
  fs::remove(partial_, ignored);  // of an old process with this id, or a link to another file
  out_.open(partial_, std::ios::binary);
  if (!out_) refuse(reason_of(errno));
  // What others may not read in the old file they may not read in the new one.
  if (fs::exists(status)) fs::permissions(partial_, status.permissions(), ignored);
}

NewFile::~NewFile() {
  if (partial_.empty()) return;
  out_.close();  // Windows does not remove an open file
  std::error_code ignored;
  fs::remove(partial_, ignored);
}

void NewFile::write(Bytes bytes) {
  out_ << text_of(bytes);
  check();
}

void NewFile::overwrite(Bytes bytes) {
  out_.seekp(0);
  out_ << text_of(bytes);
  out_.seekp(0, std::ios::end);
  check();
}

void NewFile::commit() {
  out_.close();
  check();
  std::error_code error;
  fs::rename(partial_, file_, error);
  if (error) refuse(reason_of(error));
  partial_.clear();
}

void NewFile::refuse(const std::string& why) const {
  fail(given_.string(), "cannot be written: ", why);
}

void NewFile::check() const {
  if (!out_) refuse(reason_of(errno));
}

}  // namespace gpt2
