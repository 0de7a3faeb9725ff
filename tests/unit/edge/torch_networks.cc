#include "tests/unit/edge/torch_networks.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "tests/unit/edge/torch_writer.h"

namespace orrery {
namespace {

using Conv = Torch::Conv;

TorchNetwork alexnet() {
  Torch t;
  Blob x = t.act("Relu", t.conv(t.image(), {64, 11, 4, 2, 1, true}));
  x = t.pool(x, 3, 2, 0);
  x = t.pool(t.act("Relu", t.conv(x, {192, 5, 1, 2, 1, true})), 3, 2, 0);
  for (const std::int64_t c : {384, 256, 256}) {
    x = t.act("Relu", t.conv(x, {c, 3, 1, 1, 1, true}));
  }
  x = t.flatten(t.pool(x, 3, 2, 0));
  for (int i = 0; i < 2; ++i) x = t.act("Relu", t.linear(x, 4096));
  return t.finish("alexnet", t.linear(x, 1000).name, 61100840, 0.71);
}

TorchNetwork vgg(const std::string& name, const std::array<int, 5>& layers, std::int64_t parameters,
                 double gflops) {
  Torch t;
  Blob x = t.image();
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    const std::int64_t c = std::min<std::int64_t>(64LL << stage, 512);
    for (int i = 0; i < layers[stage]; ++i) {
      x = t.act("Relu", t.conv(x, {c, 3, 1, 1, 1, true}));
    }
    x = t.pool(x, 2, 2, 0);
  }
  x = t.flatten(x);
  for (int i = 0; i < 2; ++i) x = t.act("Relu", t.linear(x, 4096));
  return t.finish(name, t.linear(x, 1000).name, parameters, gflops);
}

struct Resnet {
  std::array<int, 4> blocks;
  bool bottleneck = true;
  std::int64_t groups = 1, width = 64;
};
TorchNetwork resnet(const std::string& name, const Resnet& r, std::int64_t parameters,
                    double gflops) {
  Torch t;
  Blob x = t.pool(t.conv_norm(t.image(), {64, 7, 2, 3}), 3, 2, 1);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const std::int64_t planes = 64LL << stage, out = planes * (r.bottleneck ? 4 : 1);
    const std::int64_t width = r.bottleneck ? planes * r.width / 64 * r.groups : planes;
    for (int i = 0; i < r.blocks.at(stage); ++i) {
      const std::int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      Blob y = r.bottleneck ? t.conv_norm(x, {width}) : x;
      y = t.conv_norm(y, {width, 3, stride, 1, r.groups});
      y = r.bottleneck ? t.norm(t.conv(y, {out})) : t.norm(t.conv(y, {out, 3, 1, 1}));
      const Blob shortcut = stride != 1 || x.c != out ? t.norm(t.conv(x, {out, 1, stride})) : x;
      x = t.act("Relu", t.sum(y, shortcut));
    }
  }
  x = t.linear(t.flatten(t.global_pool(x)), 1000);
  return t.finish(name, x.name, parameters, gflops);
}

TorchNetwork squeezenet(bool second) {
  Torch t;
  Blob x = t.act("Relu", t.conv(t.image(), {second ? 64 : 96, second ? 3 : 7, 2, 0, 1, true}));
  x = t.pool(x, 3, 2, 0, true);
  const std::array<std::int64_t, 8> squeeze = {16, 16, 32, 32, 48, 48, 64, 64};
  for (std::size_t i = 0; i < squeeze.size(); ++i) {
    const std::int64_t e = squeeze[i] * 4;
    const Blob s = t.act("Relu", t.conv(x, {squeeze[i], 1, 1, 0, 1, true}));
    x = t.concat({t.act("Relu", t.conv(s, {e, 1, 1, 0, 1, true})),
                  t.act("Relu", t.conv(s, {e, 3, 1, 1, 1, true}))});
    if (second ? i == 1 || i == 3 : i == 2 || i == 6) x = t.pool(x, 3, 2, 0, true);
  }
  x = t.flatten(t.global_pool(t.act("Relu", t.conv(x, {1000, 1, 1, 0, 1, true}))));
  return second ? t.finish("squeezenet1_1", x.name, 1235496, 0.35)
                : t.finish("squeezenet1_0", x.name, 1248424, 0.82);
}

TorchNetwork densenet(const std::string& name, const std::array<int, 4>& blocks,
                      std::int64_t parameters, double gflops) {
  constexpr std::int64_t kGrowth = 32;
  Torch t;
  Blob x = t.pool(t.conv_norm(t.image(), {64, 7, 2, 3}), 3, 2, 1);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < blocks.at(stage); ++i) {
      const Blob y = t.conv_norm(t.act("Relu", t.norm(x)), {4 * kGrowth});
      x = t.concat({x, t.conv(y, {kGrowth, 3, 1, 1})});
    }
    if (stage < 3) {
      x = t.conv(t.act("Relu", t.norm(x)), {x.c / 2});
      x = t.pool(x, 2, 2, 0, false, "AveragePool");
    }
  }
  x = t.linear(t.flatten(t.global_pool(t.act("Relu", t.norm(x)))), 1000);
  return t.finish(name, x.name, parameters, gflops);
}

// The inverted residual of MobileNetV2, V3, MnasNet and EfficientNet.
struct Inverted {
  std::int64_t hidden = 0, out = 0, k = 3, stride = 1;
  std::string act = "Relu6";
  std::int64_t gate = 0;  // width of squeeze and excitation
  std::string gate_inner = "Relu", gate_outer = "HardSigmoid";
  bool always_expands = false;
};
Blob inverted(Torch& t, const Blob& x, const Inverted& p) {
  Blob y = p.hidden != x.c || p.always_expands ? t.conv_norm(x, {p.hidden}, p.act) : x;
  y = t.conv_norm(y, {p.hidden, p.k, p.stride, p.k / 2, p.hidden}, p.act);
  if (p.gate > 0) y = t.gate(y, p.gate, p.gate_inner, p.gate_outer);
  y = t.norm(t.conv(y, {p.out}));
  return p.stride == 1 && x.c == p.out ? t.sum(x, y) : y;
}

struct Stage {
  std::int64_t expansion, out;
  int count;
  std::int64_t stride, k;
};

TorchNetwork mobilenet_v2() {
  Torch t;
  Blob x = t.conv_norm(t.image(), {32, 3, 2, 1}, "Relu6");
  for (const Stage& s : {Stage{1, 16, 1, 1, 3},
                         {6, 24, 2, 2, 3},
                         {6, 32, 3, 2, 3},
                         {6, 64, 4, 2, 3},
                         {6, 96, 3, 1, 3},
                         {6, 160, 3, 2, 3},
                         {6, 320, 1, 1, 3}}) {
    for (int i = 0; i < s.count; ++i) {
      x = inverted(t, x, {x.c * s.expansion, s.out, s.k, i == 0 ? s.stride : 1});
    }
  }
  x = t.conv_norm(x, {1280}, "Relu6");
  return t.finish("mobilenet_v2", t.linear(t.flatten(t.global_pool(x)), 1000).name, 3504872, 0.30);
}

TorchNetwork mnasnet() {
  Torch t;
  Blob x = t.conv_norm(t.image(), {32, 3, 2, 1});
  x = t.conv_norm(x, {32, 3, 1, 1, 32});
  x = t.norm(t.conv(x, {16}));
  for (const Stage& s : {Stage{3, 24, 3, 2, 3},
                         {3, 40, 3, 2, 5},
                         {6, 80, 3, 2, 5},
                         {6, 96, 2, 1, 3},
                         {6, 192, 4, 2, 5},
                         {6, 320, 1, 1, 3}}) {
    for (int i = 0; i < s.count; ++i) {
      x = inverted(t, x, {x.c * s.expansion, s.out, s.k, i == 0 ? s.stride : 1, "Relu"});
    }
  }
  x = t.conv_norm(x, {1280});
  return t.finish("mnasnet1_0", t.linear(t.flatten(t.global_pool(x)), 1000).name, 4383312, 0.31);
}

TorchNetwork efficientnet_b0() {
  Torch t;
  Blob x = t.conv_norm(t.image(), {32, 3, 2, 1}, "Silu");
  for (const Stage& s : {Stage{1, 16, 1, 1, 3},
                         {6, 24, 2, 2, 3},
                         {6, 40, 2, 2, 5},
                         {6, 80, 3, 2, 3},
                         {6, 112, 3, 1, 5},
                         {6, 192, 4, 2, 5},
                         {6, 320, 1, 1, 3}}) {
    for (int i = 0; i < s.count; ++i) {
      x = inverted(t, x,
                   {x.c * s.expansion, s.out, s.k, i == 0 ? s.stride : 1, "Silu",
                    std::max<std::int64_t>(1, x.c / 4), "Silu", "Sigmoid"});
    }
  }
  x = t.conv_norm(x, {1280}, "Silu");
  return t.finish("efficientnet_b0", t.linear(t.flatten(t.global_pool(x)), 1000).name, 5288548,
                  0.39);
}

TorchNetwork mobilenet_v3_large() {
  struct Row {
    std::int64_t k, hidden, out;
    bool gate;
    const char* act;
    std::int64_t stride;
  };
  constexpr const char *kRelu = "Relu", *kHard = "HardSwish";
  Torch t;
  Blob x = t.conv_norm(t.image(), {16, 3, 2, 1}, kHard);
  for (const Row& r : {Row{3, 16, 16, false, kRelu, 1},
                       {3, 64, 24, false, kRelu, 2},
                       {3, 72, 24, false, kRelu, 1},
                       {5, 72, 40, true, kRelu, 2},
                       {5, 120, 40, true, kRelu, 1},
                       {5, 120, 40, true, kRelu, 1},
                       {3, 240, 80, false, kHard, 2},
                       {3, 200, 80, false, kHard, 1},
                       {3, 184, 80, false, kHard, 1},
                       {3, 184, 80, false, kHard, 1},
                       {3, 480, 112, true, kHard, 1},
                       {3, 672, 112, true, kHard, 1},
                       {5, 672, 160, true, kHard, 2},
                       {5, 960, 160, true, kHard, 1},
                       {5, 960, 160, true, kHard, 1}}) {
    // A quarter, to a multiple of eight, but at least nine tenths of it.
    std::int64_t gate = std::max<std::int64_t>(8, (r.hidden / 4 + 4) / 8 * 8);
    if (gate * 10 < r.hidden / 4 * 9) gate += 8;
    x = inverted(t, x, {r.hidden, r.out, r.k, r.stride, r.act, r.gate ? gate : 0});
  }
  x = t.flatten(t.global_pool(t.conv_norm(x, {960}, kHard)));
  x = t.act(kHard, t.linear(x, 1280));
  return t.finish("mobilenet_v3_large", t.linear(x, 1000).name, 5483032, 0.22);
}

TorchNetwork shufflenet_v2() {
  Torch t;
  Blob x = t.pool(t.conv_norm(t.image(), {24, 3, 2, 1}), 3, 2, 1);
  const std::array<std::pair<std::int64_t, int>, 3> stages = {{{116, 4}, {232, 8}, {464, 4}}};
  for (const auto& [c, count] : stages) {
    for (int i = 0; i < count; ++i) {
      const std::int64_t half = c / 2, stride = i == 0 ? 2 : 1;
      Blob left = x, right = x;
      if (i == 0) {
        left = t.conv_norm(t.norm(t.conv(x, {x.c, 3, 2, 1, x.c})), {half});
      } else {
        std::tie(left, right) = t.halves(x);
      }
      right = t.conv_norm(right, {half});
      right = t.conv_norm(t.norm(t.conv(right, {half, 3, stride, 1, half})), {half});
      x = t.shuffle(t.concat({left, right}));
    }
  }
  x = t.conv_norm(x, {1024});
  const std::string mean =
      t.node("ReduceMean", {x.name},
             {OnnxField::integers("axes", {2, 3}), OnnxField::integer("keepdims", 0)});
  return t.finish("shufflenet_v2_x1_0", t.linear({mean, 1024, 1}, 1000).name, 2278604, 0.14);
}

TorchNetwork vit_b_16() {
  constexpr std::int64_t kWidth = 768, kTokens = 197, kHeads = 12, kHead = 64, kMlp = 3072;
  Torch t;
  const Blob patches = t.conv(t.image(), {kWidth, 16, 16, 0, 1, true});
  const std::string batch =
      t.node("Gather", {t.node("Shape", {"image"}), t.index(0)}, {OnnxField::integer("axis", 0)});
  const std::string first = t.node("Unsqueeze", {batch, t.list({0})});
  const auto sizes = [&](const OnnxSizes& rest) {
    return t.node("Concat", {first, t.list(rest)}, {OnnxField::integer("axis", 0)});
  };
  std::string x = t.node("Reshape", {patches.name, sizes({kWidth, kTokens - 1})});
  x = t.node("Transpose", {x}, {OnnxField::integers("perm", {0, 2, 1})});
  const std::string class_token = t.node("Expand", {t.weight({1, 1, kWidth}), sizes({1, kWidth})});
  x = t.node("Concat", {class_token, x}, {OnnxField::integer("axis", 1)});
  x = t.node("Add", {x, t.weight({1, kTokens, kWidth})});
  for (int layer = 0; layer < 12; ++layer) {
    std::string y = t.projection(t.layer_norm(x, kWidth), kTokens, kWidth, 3 * kWidth);
    y = t.node("Reshape", {y, sizes({kTokens, 3, kHeads, kHead})});
    y = t.node("Transpose", {y}, {OnnxField::integers("perm", {2, 0, 3, 1, 4})});
    std::array<std::string, 3> parts;
    for (std::size_t i = 0; i < 3; ++i) {
      parts[i] = t.node("Gather", {y, t.index(static_cast<std::int64_t>(i))},
                        {OnnxField::integer("axis", 0)});
    }
    const std::string keys =
        t.node("Transpose", {parts[1]}, {OnnxField::integers("perm", {0, 1, 3, 2})});
    std::string scores = t.node("MatMul", {parts[0], keys});
    scores = t.node("Softmax", {t.node("Mul", {scores, t.constant()})});
    y = t.node("MatMul", {scores, parts[2]});
    t.count(2 * kHeads * kTokens * kTokens * kHead);
    y = t.node("Transpose", {y}, {OnnxField::integers("perm", {0, 2, 1, 3})});
    y = t.node("Reshape", {y, sizes({kTokens, kWidth})});
    x = t.node("Add", {x, t.projection(y, kTokens, kWidth, kWidth)});
    y = t.projection(t.layer_norm(x, kWidth), kTokens, kWidth, kMlp);
    const std::string erf = t.node("Erf", {t.node("Div", {y, t.constant()})});
    y = t.node("Mul", {y, t.node("Add", {erf, t.constant()})});
    y = t.node("Mul", {y, t.constant()});
    x = t.node("Add", {x, t.projection(y, kTokens, kMlp, kWidth)});
  }
  x = t.node("Gather", {t.layer_norm(x, kWidth), t.index(0)}, {OnnxField::integer("axis", 1)});
  return t.finish("vit_b_16", t.linear({x, kWidth, 1}, 1000).name, 86567656, 17.56);
}

}  // namespace

std::vector<TorchNetwork> torch_networks() {
  return {alexnet(),
          vgg("vgg11", {1, 1, 2, 2, 2}, 132863336, 7.61),
          vgg("vgg13", {2, 2, 2, 2, 2}, 133047848, 11.31),
          vgg("vgg16", {2, 2, 3, 3, 3}, 138357544, 15.47),
          vgg("vgg19", {2, 2, 4, 4, 4}, 143667240, 19.63),
          resnet("resnet18", {{2, 2, 2, 2}, false}, 11689512, 1.81),
          resnet("resnet34", {{3, 4, 6, 3}, false}, 21797672, 3.66),
          resnet("resnet50", {{3, 4, 6, 3}}, 25557032, 4.09),
          resnet("resnet101", {{3, 4, 23, 3}}, 44549160, 7.80),
          resnet("resnet152", {{3, 8, 36, 3}}, 60192808, 11.51),
          resnet("resnext50_32x4d", {{3, 4, 6, 3}, true, 32, 4}, 25028904, 4.23),
          resnet("wide_resnet50_2", {{3, 4, 6, 3}, true, 1, 128}, 68883240, 11.40),
          squeezenet(false),
          squeezenet(true),
          densenet("densenet121", {6, 12, 24, 16}, 7978856, 2.83),
          densenet("densenet169", {6, 12, 32, 32}, 14149480, 3.36),
          mobilenet_v2(),
          mnasnet(),
          efficientnet_b0(),
          mobilenet_v3_large(),
          shufflenet_v2(),
          vit_b_16()};
}

}  // namespace orrery
