// Convolutions and pools of ONNX (docs/Operators.md of github.com/onnx/onnx).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/graph/onnx_op.h"

namespace orrery {
namespace {

// One axis a spatial dimension, and how the result is rounded.
struct Windows {
  std::vector<WindowAxis> axes;
  bool same = false;  // auto_pad: the size over the stride, rounded up
};

Windows windows_of(const OnnxOp& op, const EdgeDims& kernel) {
  const std::size_t rank = kernel.size();
  const auto list = [&](std::string_view name) {
    std::vector<std::int64_t> values = op.integers(name);
    if (values.empty()) values.assign(rank, 1);
    if (values.size() != rank) {
      throw InputError(fmt::format("{} {} for {} spatial dimensions", values.size(), name, rank));
    }
    return values;
  };
  const auto strides = list("strides"), dilations = list("dilations");
  std::vector<std::int64_t> pads = op.integers("pads");
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (pads.size() != 2 * rank) {
    throw InputError(fmt::format("{} pads for {} spatial dimensions", pads.size(), rank));
  }
  Windows windows;
  const std::string_view automatic = op.text("auto_pad");
  windows.same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  for (std::size_t i = 0; i < rank; ++i) {
    // Clamped, so that their sum does not overflow; window_positions refuses what is absurd.
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    const std::int64_t both =
        std::clamp(pads[i], -kMost, kMost) + std::clamp(pads[rank + i], -kMost, kMost);
    windows.axes.push_back({kernel[i], strides[i], dilations[i], automatic == "VALID" ? 0 : both});
  }
  return windows;
}

// Windows of three and more dimensions keep the innermost two, the others as height.
EdgeWindow window(const std::vector<WindowAxis>& axes, std::int64_t WindowAxis::* member,
                  bool multiplied) {
  EdgeWindow w;
  if (axes.empty()) return w;
  w.w = axes.back().*member;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    w.h = multiplied ? checked_product({w.h, axes[i].*member}) : axes[i].*member;
  }
  return w;
}
void set_windows(EdgeNode& node, const Windows& windows) {
  node.kernel = window(windows.axes, &WindowAxis::kernel, true);
  node.stride = window(windows.axes, &WindowAxis::stride, false);
  node.dilation = window(windows.axes, &WindowAxis::dilation, false);
}

std::int64_t positions(std::int64_t size, const WindowAxis& axis, bool same, bool ceil) {
  if (!same) return window_positions(size, axis, ceil);
  if (axis.stride < 1) throw InputError(fmt::format("a stride of {}", axis.stride));
  return size / axis.stride + (size % axis.stride != 0 ? 1 : 0);
}

// The weights are input `at`; the bias is input `bias_at`.
void convolution(OnnxOp& op, std::size_t at, std::size_t bias_at) {
  const EdgeDims& in = op.shape();
  const EdgeDims& w = op.shape(at);
  if (in.size() < 3 || in.size() != w.size()) {
    throw InputError(fmt::format("weights {} for an input {}", shape_text(w), shape_text(in)));
  }
  EdgeNode& node = op.node;
  node.groups = op.integer("group", 1);
  if (node.groups < 1 || in[1] % node.groups != 0 || w[0] % node.groups != 0 ||
      w[1] != in[1] / node.groups) {
    throw InputError(fmt::format("weights {} in {} groups for an input {}", shape_text(w),
                                 node.groups, shape_text(in)));
  }
  const Windows windows = windows_of(op, EdgeDims(w.begin() + 2, w.end()));
  set_windows(node, windows);
  EdgeDims out = {in[0], w[0]};
  for (std::size_t i = 0; i < windows.axes.size(); ++i) {
    out.push_back(positions(in[2 + i], windows.axes[i], windows.same, false));
  }
  op.set(out);
  node.weights = checked_product(w);
  node.macs =
      checked_product({checked_product(out), checked_product(w) / std::max<std::int64_t>(w[0], 1)});
  op.learned = {at, bias_at};
}

void conv(OnnxOp& op) { convolution(op, 1, 2); }
void conv_integer(OnnxOp& op) { convolution(op, 1, op.inputs.size()); }
void qlinear_conv(OnnxOp& op) { convolution(op, 3, 8); }

void conv_transpose(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const EdgeDims& w = op.shape(1);
  EdgeNode& node = op.node;
  node.groups = op.integer("group", 1);
  if (in.size() < 3 || in.size() != w.size() || node.groups < 1 || w[0] != in[1] ||
      in[1] % node.groups != 0) {
    throw InputError(fmt::format("weights {} in {} groups for an input {}", shape_text(w),
                                 node.groups, shape_text(in)));
  }
  const Windows windows = windows_of(op, EdgeDims(w.begin() + 2, w.end()));
  set_windows(node, windows);
  std::vector<std::int64_t> more = op.integers("output_padding");
  more.resize(windows.axes.size(), 0);
  const std::vector<std::int64_t> sizes = op.integers("output_shape");
  EdgeDims out = {in[0], checked_product({w[1], node.groups})};
  std::int64_t area = 1;
  for (std::size_t i = 0; i < windows.axes.size(); ++i) {
    const WindowAxis& axis = windows.axes[i];
    if (sizes.size() >= windows.axes.size()) {
      out.push_back(sizes[sizes.size() - windows.axes.size() + i]);
    } else if (windows.same) {
      out.push_back(checked_product({in[2 + i], axis.stride}));
    } else {
      out.push_back(transposed_size(in[2 + i], axis, more[i]));
    }
    area = checked_product({area, out.back()});
  }
  op.set(out);
  node.weights = checked_product(w);
  node.macs = checked_product({node.weights, in[0], area});
  op.learned = {1, 2};
}

void pool(OnnxOp& op) {
  const EdgeDims& in = op.shape();
  const EdgeDims kernel = op.integers("kernel_shape");
  if (in.size() != kernel.size() + 2) {
    throw InputError(fmt::format("a window {} over {}", shape_text(kernel), shape_text(in)));
  }
  const Windows windows = windows_of(op, kernel);
  set_windows(op.node, windows);
  EdgeDims out = {in[0], in[1]};
  const bool ceil = op.integer("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    out.push_back(positions(in[2 + i], windows.axes[i], windows.same, ceil));
  }
  op.set(out);
  for (std::size_t i = 1; i < op.outputs.size(); ++i) op.set(out, i).type = kOnnxInt64;
}

void global_pool(OnnxOp& op) {
  EdgeDims out = op.shape();
  if (out.size() < 3) throw InputError(fmt::format("a pool over {}", shape_text(out)));
  std::fill(out.begin() + 2, out.end(), 1);
  op.set(std::move(out));
}

}  // namespace

const std::vector<OnnxKind>& onnx_window_kinds() {
  constexpr EdgeActivation kNone = EdgeActivation::kNone;
  static const std::vector<OnnxKind> kKinds = {
      {"Conv", EdgeOp::kConvolution, kNone, conv},
      {"ConvInteger", EdgeOp::kConvolution, kNone, conv_integer},
      {"QLinearConv", EdgeOp::kConvolution, kNone, qlinear_conv},
      {"ConvTranspose", EdgeOp::kDeconvolution, kNone, conv_transpose},
      {"MaxPool", EdgeOp::kPool, kNone, pool},
      {"AveragePool", EdgeOp::kPool, kNone, pool},
      {"LpPool", EdgeOp::kPool, kNone, pool},
      {"GlobalAveragePool", EdgeOp::kGlobalPool, kNone, global_pool},
      {"GlobalMaxPool", EdgeOp::kGlobalPool, kNone, global_pool},
      {"GlobalLpPool", EdgeOp::kGlobalPool, kNone, global_pool},
  };
  return kKinds;
}

}  // namespace orrery
