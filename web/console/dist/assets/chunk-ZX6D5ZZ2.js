var n=null;function r(t,e){n={name:t,text:e}}function a(){let t=n;return n=null,t}export{r as a,a as b};
