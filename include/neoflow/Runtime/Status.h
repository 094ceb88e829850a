// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the runtime reports failure: a status that either is good or holds one
// message for the user, and a value-or-status pair. Nothing in the runtime
// throws on purpose.

#ifndef NEOFLOW_RUNTIME_STATUS_H
#define NEOFLOW_RUNTIME_STATUS_H

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <variant>

namespace neoflow::runtime {

/// Success, or an error with a message: lower case, no full stop.
class [[nodiscard]] Status {
public:
  /// Success; allocates nothing.
  Status() = default;

  static Status success() { return Status(); }
  static Status error(std::string message) {
    Status status;
    status.text = std::make_unique<std::string>(std::move(message));
    return status;
  }

  bool ok() const { return !text; }
  /// The message of an error, the empty string of a success.
  const std::string &message() const {
    static const std::string none;
    return text ? *text : none;
  }

private:
  std::unique_ptr<std::string> text;
};

/// An error whose message is the parts one after the other.
template <typename... Parts>
Status error(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return Status::error(stream.str());
}

/// A value, or the error that explains why there is none.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : storage(std::move(value)) {}
  /// `status` must be an error.
  Expected(Status status) : storage(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(storage); }
  /// The error, given away; only when `ok()` is false.
  Status takeError() { return std::move(std::get<Status>(storage)); }
  const std::string &message() const {
    return std::get<Status>(storage).message();
  }

  /// The value; only when `ok()` is true.
  T &operator*() { return std::get<T>(storage); }
  const T &operator*() const { return std::get<T>(storage); }
  T *operator->() { return &std::get<T>(storage); }
  const T *operator->() const { return &std::get<T>(storage); }

private:
  std::variant<T, Status> storage;
};

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_STATUS_H
