// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bundle at work on a device: the values of its parameters and states, and
// the execution of its functions.

#ifndef NEOFLOW_RUNTIME_SESSION_H
#define NEOFLOW_RUNTIME_SESSION_H

#include "neoflow/Runtime/Bundle.h"
#include "neoflow/Runtime/Device.h"
#include "neoflow/Runtime/Manifest.h"
#include "neoflow/Runtime/Status.h"
#include "neoflow/Runtime/Tensor.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace neoflow::runtime {

/// A parameter or state.
struct Variable {
  std::string name;
  Role role = Role::Param;
  ElementType type = ElementType::F32;
  Shape shape;
  bool zeroInit = false;
  bool hasValue = false;
};

/// What the runtime hands to arguments with the roles seed, step and
/// learning_rate.
struct StepSettings {
  uint64_t seed = 0;
  int64_t step = 0;
  /// The default of the bundle if absent.
  std::optional<double> learningRate;
};

/// All members may be called from several threads; runs happen one after the
/// other, each on all threads of the device.
class Session {
public:
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// Loads the kernels and allocates parameters, states and the arena. No
  /// variable but the states that start at zero has a value yet.
  static Expected<std::unique_ptr<Session>>
  create(std::shared_ptr<const Bundle> bundle, std::shared_ptr<Device> device,
         const std::string &targetName = "");

  const Bundle &bundle() const;
  const Target &target() const;
  Device &device() const;

  /// In the order in which the functions first mention them.
  std::vector<Variable> variables() const;
  /// Zeroes the states that start at zero and runs `init` for everything else.
  /// Without such a function those keep what they have.
  Status initialise(uint64_t seed);
  Status setVariable(const std::string &name, const TensorRef &value);
  Expected<Tensor> getVariable(const std::string &name) const;

  StepSettings settings() const;
  void setSettings(const StepSettings &settings);

  /// The function of that name. The error lists those that there are.
  Expected<const Function *> findFunction(const std::string &name) const;
  /// Index of the program of a function that fits the given shapes of its
  /// arguments; an absent shape fits anything. The error lists the
  /// specialisations that there are.
  Expected<size_t>
  findProgram(const std::string &function,
              const std::vector<std::optional<Shape>> &shapes) const;
  /// Programs of a function, in the order of the bundle.
  std::vector<size_t> programs(const std::string &function) const;

  /// Runs a program. `arguments` has an address for each argument of the
  /// function; those that the session sets itself (`isSetBySession`) are
  /// ignored and may be null. `results` has an address for each result, or null
  /// for one that is not wanted. The memory is used in place. After the first
  /// run of a program this allocates nothing.
  Status run(size_t program, const void *const *arguments, void *const *results,
             LaunchObserver *observer = nullptr);
  /// Runs a program and counts a step.
  Status step(size_t program, const void *const *arguments,
              void *const *results);

  /// Runs the specialisation of a function that fits. `inputs` are the values
  /// of the arguments that the session does not set, in their order; their
  /// types must be those of the function.
  Expected<std::vector<Tensor>> call(const std::string &function,
                                     const std::vector<TensorRef> &inputs);

  /// Whether arguments of that role get their values from the session.
  static bool isSetBySession(Role role);

private:
  Session();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The shape of an argument or result of a program.
Shape shapeOf(const Value &value, const Program &program);

} // namespace neoflow::runtime

#endif // NEOFLOW_RUNTIME_SESSION_H
