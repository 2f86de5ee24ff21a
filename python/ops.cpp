// gla_bench._core.Place and PlannedCall: calls on tensors that another program owns. The other half
// is python/gla_bench/_ops_call.py.

#include "python/ops.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.hpp"
#include "harness/calls/place.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench {
namespace {

namespace nb = nanobind;
using calls::CallPlace;
using calls::PlannedCall;

/// The program's name of a tensor, what messages call it, its dtype, shape and strides.
using TensorTuple = std::tuple<std::string, std::string, std::string, std::vector<std::int64_t>,
                               std::vector<std::int64_t>>;

/// Python's exception for each of ours, the derived classes first.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const calls::DtypeError& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const calls::NoVariant& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  } catch (const calls::NoSuchDirection& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  } catch (const InputError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const OutOfMemory& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const BuildError& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (const RunError& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

template <class Value>
Value one_of(const std::optional<Value>& value, const std::string& found, const char* expected) {
  if (!value) throw InputError("found '" + found + "', expected " + expected);
  return *value;
}

DType dtype_of(const TensorTuple& tensor) {
  const std::string& text = std::get<2>(tensor);
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::int32})
    if (text == name(dtype)) return dtype;
  throw calls::DtypeError(std::get<1>(tensor) + " is " + text +
                          "; expected float32, bfloat16 or float16, and int32 for cu_seqlens");
}

calls::Question question_of(const std::string& op, const std::string& direction,
                            const std::map<std::string, std::string>& options,
                            std::optional<double> scale, const std::vector<TensorTuple>& tensors) {
  calls::Question question{
      op, one_of(parse_direction(direction), direction, "forward or backward"), options, scale, {}};
  for (const TensorTuple& tensor : tensors)
    question.tensors[std::get<0>(tensor)] = {std::get<1>(tensor), dtype_of(tensor),
                                             std::get<3>(tensor), std::get<4>(tensor)};
  return question;
}

calls::Wish wish_of(const std::string& variant, const Tile& tile, bool exact) {
  calls::Wish wish{variant, tile, {}};
  if (exact) wish.arithmetic = {Arithmetic::float32};
  return wish;
}

std::shared_ptr<CallPlace> open_place(const std::string& backend, int device, int threads,
                                      const std::string& tuned, const std::string& model,
                                      const std::set<std::string>& allowed,
                                      const std::string& program_folder) {
  calls::PlaceOptions options;
  options.backend = one_of(parse_backend(backend), backend, "host or cuda");
  options.cuda.device = device;
  options.host.threads = threads;
  options.sources = {tuned, model, allowed};
  if (!program_folder.empty()) set_program_folder(program_folder);
  const nb::gil_scoped_release without_interpreter;
  return std::make_shared<CallPlace>(options);
}

void run(const PlannedCall& call, const nb::list& addresses, std::uintptr_t workspace,
         std::uintptr_t stream) {
  std::vector<void*> tensors;
  tensors.reserve(addresses.size());
  for (const nb::handle address : addresses)
    tensors.push_back(reinterpret_cast<void*>(nb::cast<std::uintptr_t>(address)));
  const nb::gil_scoped_release without_interpreter;
  call.run(tensors, reinterpret_cast<void*>(workspace), reinterpret_cast<void*>(stream));
}

}  // namespace

void add_ops(nb::module_& module) {
  nb::register_exception_translator(translate);
  // Operators of torch hold calls until the process ends, after this module could let go of them.
  nb::set_leak_warnings(false);
  nb::class_<PlannedCall>(module, "PlannedCall",
                          "A variant and tile for given tensors, and the call once it is prepared.")
      .def(
          "describe", [](const PlannedCall& call) { return call.describe().dump(); },
          "The problem, the candidate and how it was chosen, as JSON.")
      .def_prop_ro(
          "tensors",
          [](const PlannedCall& call) {
            std::vector<std::string> names;
            for (const TensorSpec& spec : call.tensors()) names.push_back(spec.name);
            return names;
          },
          "The program's names of the tensors, in the order that run() takes.")
      .def_prop_ro("is_ready", &PlannedCall::is_ready, "Whether it has been prepared.")
      .def_prop_ro("workspace_bytes", &PlannedCall::workspace_bytes,
                   "Bytes of scratch memory of a call, once prepared.")
      .def("run", &run, nb::arg("addresses"), nb::arg("workspace"), nb::arg("stream"),
           "One call on the tensors at these addresses, on a stream (0: the device's default one, "
           "or the host).");
  nb::class_<CallPlace>(module, "Place", "A device, or the host, with what auto goes by there.")
      .def_static("open", &open_place, nb::arg("backend"), nb::arg("device"), nb::arg("threads"),
                  nb::arg("tuned"), nb::arg("model"), nb::arg("allowed"), nb::arg("program_folder"),
                  "Opens a place; an empty path is the device's own.")
      .def_prop_ro("notes", &CallPlace::notes, "What auto goes by.")
      .def_prop_ro("warnings", &CallPlace::warnings, "What is to be known of that.")
      .def(
          "plan",
          [](CallPlace& place, const std::string& op, const std::string& direction,
             const std::map<std::string, std::string>& options, std::optional<double> scale,
             const std::vector<TensorTuple>& tensors, const std::string& variant, const Tile& tile,
             bool exact) {
            const nb::gil_scoped_release without_interpreter;
            return place.plan(question_of(op, direction, options, scale, tensors),
                              wish_of(variant, tile, exact));
          },
          nb::arg("operator"), nb::arg("direction"), nb::arg("options"), nb::arg("scale").none(),
          nb::arg("tensors"), nb::arg("variant"), nb::arg("tile"), nb::arg("exact"),
          "The variant and tile for tensors given as (program's name, name in messages, dtype, "
          "shape, strides). exact: products are in float32 alone.")
      .def(
          "prepare",
          [](CallPlace& place, PlannedCall& call) {
            const nb::gil_scoped_release without_interpreter;
            place.prepare(call);
          },
          nb::arg("call"), "Compiles and loads what a call needs.");
}

}  // namespace gla_bench
